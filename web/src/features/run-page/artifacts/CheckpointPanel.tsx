/** The checkpoints of a run that has not finished: what its next attempt resumes from. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import type { RunCheckpoints, RunDetail } from "@/shared/api/types";
import { formatBytes, formatCount } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { hasEnded } from "@/shared/state/state";
import styles from "./CheckpointPanel.module.css";

export function CheckpointPanel({ run }: { run: RunDetail }) {
  const checkpoints = useCheckpoints(run);
  const now = useNow();
  if (!checkpoints?.items.length) return null;
  const { items, total, folder } = checkpoints;
  return (
    <section className={classNames("panel", styles.checkpointPanel)} aria-label="Stored checkpoints">
      <h2>Stored checkpoints</h2>
      <ScrollRegion className={styles.checkpoints} label="Table of the stored checkpoints">
        <table aria-label="Checkpoints of the run">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Step</th>
              <th scope="col">Attempt</th>
              <th scope="col">Size</th>
              <th scope="col">Written</th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <Row key={item.name} item={item} now={now} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {total > items.length && (
        <p className="small muted">
          The newest {items.length} of {formatCount(total)} entries.
        </p>
      )}
      <p className={classNames("small muted", styles.checkpointFolder)}>{folder}</p>
    </section>
  );
}

function Row({ item, now }: { item: RunCheckpoints["items"][number]; now: number }) {
  return (
    <tr className={classNames(!item.is_complete && "muted")}>
      <th scope="row">
        {item.name} {!item.is_complete && <span className="small">not complete</span>}
      </th>
      <td>{item.step === null ? "–" : formatCount(item.step)}</td>
      <td>{item.attempt ?? "–"}</td>
      <td>{formatBytes(item.size_bytes)}</td>
      <td>{formatAge(item.written_at, now)}</td>
    </tr>
  );
}

const INTERVAL_MS = 30_000; // a checkpoint is written every few minutes; no event announces it

/**
 * GET /runs/{id}/checkpoints: what a run that has not finished could resume from.
 *
 * Return the checkpoints of a run that is live, paused, failed or stopped; those of a finished run are artifacts.
 */
function useCheckpoints(run: RunDetail): RunCheckpoints | undefined {
  const { data } = useQuery({
    queryKey: keys.runCheckpoints(run.id, run.attempt, run.state),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/checkpoints", { params: { path: { run_id: run.id } }, signal })),
    enabled: run.attempt > 0 && run.state !== "done" && run.spec.kind !== "recorded",
    refetchInterval: hasEnded(run.state) ? false : INTERVAL_MS,
  });
  return data;
}
