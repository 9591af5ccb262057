/** What a program wrote into the run's folder, each file with a link that downloads it, and the jobs it submitted. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import type { RunDetail, RunFiles } from "@/shared/api/types";
import { formatBytes, formatCount, pluralize } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { serviceAddress } from "@/shared/page/root";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { hasEnded } from "@/shared/state/state";
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
            {foldersOf(items).map(([path, files]) => (
              <Folder key={path} runId={run.id} {...{ path, files, now }} />
            ))}
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

type Item = RunFiles["items"][number];

/** Return the files by their folders, in the order of the newest file of each; "" is the run's own folder. */
function foldersOf(items: Item[]): [string, Item[]][] {
  const folders = new Map<string, Item[]>();
  for (const item of items) {
    const folder = item.path.slice(0, Math.max(0, item.path.lastIndexOf("/")));
    folders.set(folder, [...(folders.get(folder) ?? []), item]);
  }
  return [...folders];
}

interface FolderProps {
  runId: number;
  path: string;
  files: Item[];
  now: number;
}

function Folder({ runId, path, files, now }: FolderProps) {
  const size = files.reduce((sum, file) => sum + file.size_bytes, 0);
  return (
    <tbody>
      {path && (
        <tr className={styles.folderRow}>
          <th scope="rowgroup">
            {path}/ <span className="small muted">{pluralize(files.length, "file")}</span>
          </th>
          <td className={styles.fileFact}>{formatBytes(size)}</td>
          <td />
        </tr>
      )}
      {files.map((item) => (
        <Row key={item.path} {...{ runId, item, now }} isBelow={path !== ""} />
      ))}
    </tbody>
  );
}

function Row({ runId, item, now, isBelow }: { runId: number; item: Item; now: number; isBelow: boolean }) {
  const path = item.path.split("/").map(encodeURIComponent).join("/");
  return (
    <tr>
      <th scope="row" className={classNames(isBelow && styles.fileOfFolder)}>
        <a href={serviceAddress(`/api/v1/runs/${runId}/files/${path}`)} download>
          {item.path.slice(item.path.lastIndexOf("/") + 1)}
        </a>
      </th>
      <td className={styles.fileFact}>{formatBytes(item.size_bytes)}</td>
      <td className={styles.fileFact}>{formatAge(item.written_at, now)}</td>
    </tr>
  );
}

const INTERVAL_MS = 30_000; // no event announces a file

/**
 * GET /runs/{id}/files: what a run's program wrote, and the jobs that it submitted itself.
 *
 * Return the files of a run that has begun.
 */
function useFiles(run: RunDetail): RunFiles | undefined {
  const { data } = useQuery({
    queryKey: keys.runFiles(run.id, run.attempt, run.state),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/files", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.attempt > 0,
    refetchInterval: hasEnded(run.state) ? false : INTERVAL_MS,
  });
  return data;
}
