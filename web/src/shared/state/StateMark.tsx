/** The mark of a state: shape and color show the state, next to its name. */
import type { ReactNode } from "react";
import type { State } from "@/shared/api/types";
import { MEANINGS } from "./state";
import styles from "./state.module.css";

const RING = <circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" strokeWidth="1.5" />;
const DISC = <circle cx="8" cy="8" r="6.5" fill="currentColor" />;

const SHAPES: Record<State, ReactNode> = {
  queued: <circle {...RING.props} strokeDasharray="2.1 2.4" />,
  submitting: (
    <>
      {RING}
      <circle cx="8" cy="8" r="1.75" fill="currentColor" />
    </>
  ),
  pending: (
    <>
      {RING}
      <path d="M8 4.5V8l2.4 1.6" className={styles.stateLine} />
    </>
  ),
  running: (
    <>
      <circle className={styles.stateRipple} cx="8" cy="8" r="6.5" fill="currentColor" />
      {DISC}
      <path d="M6.4 5.2v5.6L11 8z" className={styles.stateCut} />
    </>
  ),
  paused: (
    <>
      {RING}
      <path d="M6.4 5.6v4.8M9.6 5.6v4.8" className={styles.stateLine} />
    </>
  ),
  done: (
    <>
      {DISC}
      <path d="M5 8.2 7.2 10.4 11.2 6" className={styles.stateCutLine} />
    </>
  ),
  failed: (
    <>
      <path d="M8 .8 15.2 8 8 15.2.8 8z" fill="currentColor" />
      <path d="M8 4.6v4M8 10.6v.9" className={styles.stateCutLine} />
    </>
  ),
  cancelled: (
    <>
      {RING}
      <path d="M4.2 11.8 11.8 4.2" className={styles.stateLine} />
    </>
  ),
};

interface Props {
  state: State;
  stopping?: boolean;
  afterFailure?: boolean; // the attempt has failed: the run waits for the end of its job, or for its next attempt
  iconOnly?: boolean; // without the name
  label?: string; // in place of the state's name
}

/** Return the name to show; after a failure "paused" and "queued" would say that all is well. */
function nameOf(state: State, stopping: boolean, afterFailure: boolean): string {
  if (stopping) return "stopping";
  if (afterFailure) return state === "paused" ? "failing" : "retrying";
  return state;
}

export function StateMark({ state, stopping = false, afterFailure = false, iconOnly = false, label }: Props) {
  const name = label ?? nameOf(state, stopping, afterFailure);
  return (
    <span
      className={styles.state}
      data-state={state}
      title={iconOnly || name !== state ? name : MEANINGS[state]}
    >
      <svg
        viewBox="0 0 16 16"
        width="16"
        height="16"
        role={iconOnly ? "img" : undefined}
        aria-hidden={!iconOnly}
      >
        {iconOnly && <title>{name}</title>}
        {SHAPES[state]}
      </svg>
      {!iconOnly && name}
    </span>
  );
}

interface DivergedMarkProps {
  diverged: { sentence: string } | null;
  count?: number; // of runs
}

/** The mark of a run, or of several, of which a metric is NaN or infinite to its end: beside the state, in words. */
export function DivergedMark({ diverged, count }: DivergedMarkProps) {
  if (!diverged && !count) return null;
  return (
    <span className={styles.state} data-state="failed" title={diverged?.sentence}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d="M4 4l8 8M12 4l-8 8" className={styles.stateLine} />
      </svg>
      {count === undefined ? "diverged" : `${count} diverged`}
    </span>
  );
}
