/** The progress of an experiment: a cell for each run, or a band for each state when there are many runs. */
import type { State } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { STATES } from "./state";
import styles from "./state.module.css";
import { StateMark } from "./StateMark";

const MAX_CELLS = 48;

interface Props {
  counts: Partial<Record<State, number>>;
  progress: number | null; // null: the number of all steps is not known
}

export function StateBar({ counts, progress }: Props) {
  const present = STATES.filter((state) => counts[state]);
  const total = present.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const cells =
    total <= MAX_CELLS ? present.flatMap((state) => Array<State>(counts[state] ?? 0).fill(state)) : null;
  return (
    <div
      className={styles.stateBar}
      role="progressbar"
      {...(progress === null ? {} : { "aria-valuenow": Math.round(progress * 100) })}
      aria-valuetext={[shareText(progress), countsText(counts)].filter(Boolean).join("; ")}
      aria-label="progress"
    >
      {cells
        ? cells.map((state, index) => <i key={index} data-state={state} />)
        : present.map((state) => <i key={state} data-state={state} style={{ flexGrow: counts[state] }} />)}
    </div>
  );
}

function shareText(progress: number | null): string {
  return progress === null ? "" : `${Math.floor(progress * 100)}% of all steps`;
}

/** The counts as marks, or as words when all runs have the same state. */
export function StateCounts({ counts }: Pick<Props, "counts">) {
  const present = STATES.filter((state) => counts[state]);
  if (present.length < 2) return <span className="muted">{countsText(counts)}</span>;
  return (
    <span className={styles.stateCounts} title={countsText(counts)}>
      {present.map((state) => (
        <span key={state}>
          <StateMark state={state} iconOnly />
          {counts[state]}
        </span>
      ))}
    </span>
  );
}

/** Return "6 done, 1 failed, 5 running", or "3 runs done" when all runs have the same state. */
export function countsText(counts: Partial<Record<State, number>>): string {
  const present = STATES.filter((state) => counts[state]);
  const only = present.length === 1 ? present[0] : undefined;
  if (only) return `${pluralize(counts[only] ?? 0, "run")} ${only}`;
  return present.map((state) => `${counts[state] ?? 0} ${state}`).join(", ");
}
