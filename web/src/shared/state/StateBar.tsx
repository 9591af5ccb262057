/** How far an experiment is: one cell per run while they can be told apart, one band per state beyond. */
import type { State } from "@/shared/api/types";
import { plural } from "@/shared/format/number";
import { StateMark } from "./StateMark";
import { STATES } from "./state";
import "./state.css";

const MOST_CELLS = 48;

interface Props {
  counts: Partial<Record<State, number>>;
  progress: number;
}

export function StateBar({ counts, progress }: Props) {
  const present = STATES.filter((state) => counts[state]);
  const total = present.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const cells =
    total <= MOST_CELLS ? present.flatMap((state) => Array<State>(counts[state] ?? 0).fill(state)) : null;
  return (
    <div
      className="state-bar"
      role="progressbar"
      aria-valuenow={Math.round(progress * 100)}
      aria-valuetext={`${Math.floor(progress * 100)}% of all steps; ${countsText(counts)}`}
      aria-label="progress"
    >
      {cells
        ? cells.map((state, index) => <i key={index} data-state={state} />)
        : present.map((state) => <i key={state} data-state={state} style={{ flexGrow: counts[state] }} />)}
    </div>
  );
}

/** The counts as marks; in words when all runs agree. */
export function StateCounts({ counts }: Pick<Props, "counts">) {
  const present = STATES.filter((state) => counts[state]);
  if (present.length < 2) return <span className="muted">{countsText(counts)}</span>;
  return (
    <span className="state-counts" title={countsText(counts)}>
      {present.map((state) => (
        <span key={state}>
          <StateMark state={state} silent />
          {counts[state]}
        </span>
      ))}
    </span>
  );
}

/** "6 done, 1 failed, 5 running"; "3 runs done" when they agree. */
export function countsText(counts: Partial<Record<State, number>>): string {
  const present = STATES.filter((state) => counts[state]);
  const only = present.length === 1 ? present[0] : undefined;
  if (only) return `${plural(counts[only] ?? 0, "run")} ${only}`;
  return present.map((state) => `${counts[state] ?? 0} ${state}`).join(", ");
}
