/** The timeline of a run's states: time, duration and reason of each. */
import type { MoveView, RunDetail } from "@/shared/api/types";
import { formatClock, formatDuration, secondsBetween } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { useNow } from "@/shared/page/useNow";
import { hasEnded } from "@/shared/state/state";
import { StateMark } from "@/shared/state/StateMark";
import styles from "./StateTimeline.module.css";

export function StateTimeline({ run }: { run: RunDetail }) {
  const now = useNow();
  return (
    <ol className={styles.timeline} aria-label="States of the run">
      {run.moves.map((move, index) => {
        const next = run.moves[index + 1];
        const open = !next && !hasEnded(move.new);
        // The status panel shows the last reason.
        const reason = next || move.reason !== run.reason ? move.reason : null;
        return (
          <li key={`${move.at}${move.new}`} data-state={move.new} className={classNames(open && styles.open)}>
            <StateMark state={move.new} />
            <span className="small muted">
              <time dateTime={move.at} title={new Date(move.at).toLocaleString("en-GB")}>
                {formatClock(move.at, now)}
              </time>
              {durationText(move, next, now)}
            </span>
            {reason && <span className={classNames("small", styles.timelineReason)}>{reason}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** Return ", 41 s" for a past state and ", for 41 s" for the current one. */
function durationText(move: MoveView, next: MoveView | undefined, now: number): string {
  if (!next && hasEnded(move.new)) return "";
  return `, ${next ? "" : "for "}${formatDuration(Math.max(0, secondsBetween(move.at, next?.at ?? now)))}`;
}
