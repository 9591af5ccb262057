/** The run's life so far: every move, when, why, and how long it stayed. */
import type { MoveView, RunDetail } from "@/shared/api/types";
import { clock, duration, secondsBetween } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import { StateMark } from "@/shared/state/StateMark";
import { hasEnded } from "@/shared/state/state";

export function Timeline({ run }: { run: RunDetail }) {
  const now = useNow();
  return (
    <ol className="timeline" aria-label="Life of the run">
      {run.moves.map((move, index) => {
        const next = run.moves[index + 1];
        const open = !next && !hasEnded(move.new);
        // the last reason stands above already, where nobody overlooks it
        const reason = next || move.reason !== run.reason ? move.reason : null;
        return (
          <li key={`${move.at}${move.new}`} data-state={move.new} className={open ? "open" : ""}>
            <StateMark state={move.new} />
            <span className="small muted">
              <time dateTime={move.at} title={new Date(move.at).toLocaleString("en-GB")}>
                {clock(move.at, now)}
              </time>
              {stay(move, next, now)}
            </span>
            {reason && <span className="small timeline-reason">{reason}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** ", 41 s": how long the run was, or has been, in this state. */
function stay(move: MoveView, next: MoveView | undefined, now: number): string {
  if (!next && hasEnded(move.new)) return "";
  return `, ${next ? "" : "for "}${duration(Math.max(0, secondsBetween(move.at, next?.at ?? now)))}`;
}
