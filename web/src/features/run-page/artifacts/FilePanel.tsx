/** What a program wrote into the run's folder, each file with a link that downloads it, and the jobs it submitted. */
import type { RunDetail, RunFiles } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { formatBytes } from "@/shared/format/quantities";
import { formatAge } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { serviceAddress } from "@/shared/page/root";
import { useNow } from "@/shared/page/useNow";
import { useFiles } from "../api/useFiles";
import styles from "./FilePanel.module.css";

export function FilePanel({ run }: { run: RunDetail }) {
  const files = useFiles(run);
  const now = useNow();
  if (!files?.items.length && !files?.jobs.length) return null;
  const { items, total, size_bytes: size, is_cut: isCut, folder, jobs } = files;
  return (
    <section className={classNames("panel", styles.filePanel)} aria-label="Files">
      <h2>Files</h2>
      {items.length > 0 && (
        <ScrollRegion className={styles.writtenFiles} label="Table of the files that the program wrote">
          <table aria-label="Files that the program wrote">
            <thead>
              <tr>
                <th scope="col">Path</th>
                <th scope="col">Size</th>
                <th scope="col">Written</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <Row key={item.path} runId={run.id} item={item} now={now} />
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      <p className={classNames("small muted", styles.filePlace)}>
        {isCut ? "More than " : ""}
        {formatCount(total)} {total === 1 ? "file" : "files"}, {formatBytes(size)}
        {total > items.length && `; the newest ${formatCount(items.length)} are shown`}, in {folder}
      </p>
      {jobs.length > 0 && (
        <p className="small">
          Jobs that this program submitted to Slurm itself: {jobs.map(({ id }) => id).join(", ")}. They are no
          runs: Bigbatch neither watches nor stops them.
        </p>
      )}
    </section>
  );
}

function Row({ runId, item, now }: { runId: number; item: RunFiles["items"][number]; now: number }) {
  const path = item.path.split("/").map(encodeURIComponent).join("/");
  return (
    <tr>
      <th scope="row">
        <a href={serviceAddress(`/api/v1/runs/${runId}/files/${path}`)} download>
          {item.path}
        </a>
      </th>
      <td className={styles.fileFact}>{formatBytes(item.size_bytes)}</td>
      <td className={styles.fileFact}>{formatAge(item.written_at, now)}</td>
    </tr>
  );
}
