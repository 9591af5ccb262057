/** The states of a run: order and meaning. */
import type { State } from "@/shared/api/types";

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
