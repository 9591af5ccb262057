/** The timeline of a run's states: a bar whose lengths are times, and each state with its time, duration and reason. */
import { useNow } from "@/shared/api/clock";
import type { MoveView, RunDetail } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatClock, formatDuration, formatMoment, secondsBetween } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { hasEnded } from "@/shared/state/state";
import { StateMark } from "@/shared/state/StateMark";
import styles from "./StateTimeline.module.css";

const MOST_VISIBLE = 8; // states
const NEWEST = 4; // visible states of a longer history

export function StateTimeline({ run }: { run: RunDetail }) {
  const now = useNow();
  const spans = spansOf(run.moves, now);
  const folded = spans.length > MOST_VISIBLE ? spans.slice(0, -NEWEST) : [];
  const list = (some: Span[]) => some.map((span, index) => <State key={index} {...{ span, run, now }} />);
  return (
    <div className={styles.timeline}>
      <TimeBar spans={spans} />
      <ol className={styles.states} aria-label="States of the run">
        {list(spans.slice(folded.length))}
      </ol>
      {folded.length > 0 && (
        <details className="small">
          <summary className="muted">
            {pluralize(folded.length, "earlier state")}; in total {totalsText(spans)}
          </summary>
          <ScrollRegion className={styles.earlier} label="Earlier states">
            <ol>{list(folded)}</ol>
          </ScrollRegion>
        </details>
      )}
    </div>
  );
}

/** One segment for each state, as long as its share of the time. */
function TimeBar({ spans }: { spans: Span[] }) {
  const shown = spans.filter(({ seconds }) => seconds > 0);
  if (!shown.length) return null;
  return (
    <div className={styles.timeBar} role="img" aria-label={`Time in each state: ${totalsText(spans)}`}>
      {shown.map(({ move, seconds, open }, index) => (
        <i
          key={index}
          data-state={move.new}
          className={classNames(open && styles.open)}
          style={{ flexGrow: seconds }}
          title={`${move.new}, ${formatDuration(seconds)}`}
        />
      ))}
    </div>
  );
}

function State({ span: { move, seconds, open }, run, now }: { span: Span; run: RunDetail; now: number }) {
  const isLast = move === run.moves.at(-1);
  // The status panel shows the last reason.
  const reason = !isLast || move.reason !== run.reason ? move.reason : null;
  const ended = isLast && hasEnded(move.new);
  return (
    <li data-state={move.new}>
      <StateMark state={move.new} />
      <span className="small muted">
        <time dateTime={move.at} title={formatMoment(move.at)}>
          {formatClock(move.at, now)}
        </time>
        {!ended && `, ${open ? "for " : ""}${formatDuration(seconds)}`}
      </span>
      {reason && <span className={classNames("small", styles.timelineReason)}>{reason}</span>}
    </li>
  );
}

/** Return "queued 12 s, running 5 h 3 min". */
function totalsText(spans: Span[]): string {
  return totalsOf(spans)
    .map(([state, seconds]) => `${state} ${formatDuration(seconds)}`)
    .join(", ");
}

interface Span {
  move: MoveView;
  seconds: number; // 0 for the end of a run
  open: boolean; // the run is in this state
}

function spansOf(moves: MoveView[], now: number): Span[] {
  return moves.map((move, index) => {
    const next = moves[index + 1];
    const ended = !next && hasEnded(move.new);
    const seconds = ended ? 0 : Math.max(0, secondsBetween(move.at, next?.at ?? now));
    return { move, seconds, open: !next && !ended };
  });
}

/** Return the seconds in each state, in the order in which the run first came into it. */
function totalsOf(spans: Span[]): [RunDetail["state"], number][] {
  const totals = new Map<RunDetail["state"], number>();
  for (const { move, seconds } of spans) totals.set(move.new, (totals.get(move.new) ?? 0) + seconds);
  return [...totals].filter(([, seconds]) => seconds > 0);
}
