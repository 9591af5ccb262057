/** What happened to a run: attempts that ended, lost ranks, restarts, and what was removed or could not be read. */
import type { ReactNode } from "react";
import type { RunDetail } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { formatRoughly, secondsBetween } from "@/shared/format/time";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { FirstFailure } from "./FirstFailure";
import styles from "./RunHistory.module.css";

/** The attempts of a run that ended early: the step of each, the cause and the first failure. */
export function EndedAttempts({ run }: { run: RunDetail }) {
  const attempts = run.attempts.filter((attempt) => attempt.cause !== "done");
  if (attempts.length === 0) return null;
  return (
    <>
      <FoldedList
        label="Attempts that ended early"
        noun="ended attempt"
        items={attempts.map((attempt) => (
          <Attempt key={attempt.number} {...{ run, attempt }} />
        ))}
      />
      {run.excluded.length > 0 && (
        <p className="muted">
          Further attempts exclude the hosts that failed under this run: {run.excluded.join(", ")}
        </p>
      )}
    </>
  );
}

function Attempt({ run, attempt }: { run: RunDetail; attempt: RunDetail["attempts"][number] }) {
  return (
    <li>
      <b>Attempt {attempt.number}</b> <span className="muted">job {attempt.job_id ?? "none"}</span>{" "}
      {attempt.cause.replaceAll("_", " ")} at step {formatCount(attempt.step)}
      {attempt.reason && <span className="muted">: {attempt.reason}</span>}
      {run.failure?.attempt === attempt.number && run.state !== "failed" && (
        <div className={styles.attemptFailure}>
          <FirstFailure failure={run.failure} reason={attempt.reason} />
        </div>
      )}
    </li>
  );
}

/** The ranks that a run lost while the other replicas continued to train. */
export function LostRankList({ run }: { run: RunDetail }) {
  if (!run.lost_ranks.length) return null;
  return (
    <FoldedList
      label="Lost ranks"
      noun="lost rank"
      className="muted"
      items={run.lost_ranks.map((lost) => (
        <li key={`${lost.attempt}-${lost.rank}`}>
          rank {lost.rank} was lost at step {formatCount(lost.step)} of rank 0, in attempt {lost.attempt}:{" "}
          {lost.reason}; the other ranks continued
        </li>
      ))}
    />
  );
}

/** The restarts of a run: the step at which each attempt resumed, and the steps that it repeated. */
export function RestartList({ run }: { run: RunDetail }) {
  if (!run.restarts.length) return null;
  return (
    <FoldedList
      label="Restarts"
      noun="restart"
      className="muted"
      items={run.restarts.map((restart) => (
        <li key={restart.attempt}>
          attempt {restart.attempt} resumed from step {formatCount(restart.step)}
          {restart.lost_steps ? `; ${pluralize(restart.lost_steps, "step")} repeated` : ""}
        </li>
      ))}
    />
  );
}

/** What the service has removed of an ended run: points, and entries of its history. */
export function RemovalList({ run }: { run: RunDetail }) {
  const { points_removed_at: points, history_removed_at: history } = run;
  if (!points && !history) return null;
  return (
    <ul className="muted" aria-label="Removed data">
      {points && <li>The points were removed {ageText(run, points)}; the newest values remain.</li>}
      {history && <li>The times of waiting were removed {ageText(run, history)}.</li>}
    </ul>
  );
}

/** Return "30 d after the run's end". */
function ageText(run: RunDetail, at: string): string {
  return `${formatRoughly(secondsBetween(run.ended_at ?? at, at))} after the run's end`;
}

/** What the service could not read of what a run wrote: damaged lines, a folder that is gone, or another tracker. */
export function UnreadNote({ run }: { run: RunDetail }) {
  if (!run.unread) return null;
  const title = run.unread.lines || run.unread.folder_gone ? "Damaged files" : "Metrics";
  return (
    <ul className="muted" aria-label={title}>
      <li>
        {title}: {run.unread.sentence}.
      </li>
    </ul>
  );
}

const MOST_VISIBLE = 5;
const NEWEST = 3; // visible entries of a longer list

interface Props {
  label: string;
  noun: string; // of one entry
  items: ReactNode[]; // list items, oldest first
  className?: string;
}

/**
 * A list whose newest entries are visible; earlier ones of a long list are folded, so that they push nothing away.
 */
function FoldedList({ label, noun, items, className }: Props) {
  const folded = items.length > MOST_VISIBLE ? items.slice(0, -NEWEST) : [];
  return (
    <div className={className}>
      {folded.length > 0 && (
        <details>
          <summary className="muted">{pluralize(folded.length, `earlier ${noun}`)}</summary>
          <ScrollRegion className={styles.folded} label={`Earlier: ${label}`}>
            <ol>{folded}</ol>
          </ScrollRegion>
        </details>
      )}
      <ol aria-label={label}>{items.slice(folded.length)}</ol>
    </div>
  );
}
