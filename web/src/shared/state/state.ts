/** The states of a run: order and meaning; and its progress in steps. */
import type { RunView, State } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";

/** The order in bars and counts: ended states first, waiting states last. */
export const STATES: State[] = [
  "done",
  "failed",
  "cancelled",
  "running",
  "paused",
  "pending",
  "submitting",
  "queued",
];

const ENDED = new Set<State>(["done", "failed", "cancelled"]);

export function hasEnded(state: State): boolean {
  return ENDED.has(state);
}

/** The meaning of each state, for tooltips. */
export const MEANINGS: Record<State, string> = {
  queued: "not submitted to a cluster yet",
  submitting: "the scheduler submits the run to the cluster",
  pending: "in the queue of the cluster",
  running: "training",
  paused: "waits for the end of its job; then resumes from its newest checkpoint, or ends",
  done: "completed all steps",
  failed: "ended before its last step",
  cancelled: "stopped on request",
};

type Steps = Pick<RunView, "state" | "step" | "steps">;

/** Return the share of the steps that a run has taken, 0 to 1; null if their number is not known. */
export function stepShare({ state, step, steps }: Steps): number | null {
  if (steps) return Math.min(1, step / steps);
  return state === "done" ? 1 : null;
}

/** Return "120 of 300 steps", or "120 steps" if the number of all steps is not known. */
export function stepsText({ step, steps }: Steps): string {
  const total = steps ? ` of ${formatCount(steps)}` : "";
  return `${formatCount(step)}${total} steps`;
}
