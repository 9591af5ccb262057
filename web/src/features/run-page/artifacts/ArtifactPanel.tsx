/** What a run has left: its outputs and checkpoints, each with a link that downloads it. */
import { Link } from "wouter";
import type { ArtifactView, RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { errorText } from "@/shared/api/client";
import { classNames } from "@/shared/page/classNames";
import { serviceAddress } from "@/shared/page/root";
import { useArtifacts } from "./useArtifacts";
import styles from "./ArtifactPanel.module.css";

const REMOVED: Record<NonNullable<ArtifactView["removed_because"]>, string> = {
  replaced: "replaced by a later attempt",
  retention: "as the run's retention allows",
  run_deleted: "with the run in whose folder it was",
  absent: "its files were not there any more",
};

export function ArtifactPanel({ run }: { run: RunDetail }) {
  const { artifacts, error } = useArtifacts(run);
  if (error && !artifacts)
    return (
      <section className={classNames("panel", styles.artifactPanel)} aria-label="Artifacts">
        <h2>Artifacts</h2>
        <p>The artifacts cannot be shown: {errorText(error)}.</p>
      </section>
    );
  if (!artifacts?.items.length) return null;
  return (
    <section className={classNames("panel", styles.artifactPanel)} aria-label="Artifacts">
      <h2>Artifacts</h2>
      {artifacts.taken_from !== null && (
        <p className="small muted">
          The files are those of{" "}
          <Link href={`/runs/${artifacts.taken_from}`}>run {artifacts.taken_from}</Link>.
        </p>
      )}
      {artifacts.object_store?.sentence && (
        <p className="small" role="status">
          {artifacts.object_store.sentence}.
        </p>
      )}
      <ArtifactTable runId={run.id} items={artifacts.items} />
    </section>
  );
}

function ArtifactTable({ runId, items }: { runId: number; items: ArtifactView[] }) {
  const isMirrored = items.some(({ mirror }) => mirror !== null);
  return (
    <div className={styles.artifacts}>
      <table aria-label="Artifacts of the run">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col">Size</th>
            <th scope="col">Path</th>
            <th scope="col">SHA-256</th>
            {isMirrored && <th scope="col">Copy</th>}
          </tr>
        </thead>
        <tbody>
          {items.map((artifact) => (
            <Row
              key={`${artifact.attempt} ${artifact.name}`}
              runId={runId}
              artifact={artifact}
              isMirrored={isMirrored}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  runId: number;
  artifact: ArtifactView;
  isMirrored: boolean;
}

function Row({ runId, artifact, isMirrored }: RowProps) {
  const { mirror } = artifact;
  const { name, kind, size_bytes: size, files, path, sha256, removed_at, removed_because } = artifact;
  return (
    <tr className={classNames(removed_at !== null && "muted")}>
      <th scope="row">
        {removed_at ? (
          name
        ) : (
          <a href={serviceAddress(`/api/v1/runs/${runId}/artifacts/${name}`)} download>
            {name}
          </a>
        )}
      </th>
      <td>
        {kind}
        {kind !== "file" && ` of ${formatCount(files)} files`}
      </td>
      <td className={styles.size}>{formatSize(size)}</td>
      <td>
        {path}
        {removed_at && removed_because && (
          <span className="small">
            {" "}
            removed {removed_at.slice(0, 10)}, {REMOVED[removed_because]}
          </span>
        )}
      </td>
      <td>
        <code title={sha256}>{sha256.slice(0, 12)}</code>
      </td>
      {isMirrored && <td>{mirror && <Copy copy={mirror} />}</td>}
    </tr>
  );
}

/** The state of the copy in the object store; the whole sentence where something is wrong. */
function Copy({ copy }: { copy: NonNullable<ArtifactView["mirror"]> }) {
  if (copy.state === "faulty") return <span className="small">{copy.sentence}</span>;
  return <span title={copy.sentence}>{copy.state}</span>;
}

/** Return a size of a file: 512 B, 12.3 kB, 4.56 GB. */
function formatSize(bytes: number): string {
  const units = ["kB", "MB", "GB", "TB"];
  if (bytes < 1000) return `${bytes} B`;
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${units[power - 1] ?? ""}`;
}
