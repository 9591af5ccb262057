/** The states of a run as this page speaks of them. */
import type { State } from "@/shared/api/types";

/** What is done first, what has not begun last: the order of bars and counts. */
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

/** What a state means, for whoever meets the word for the first time. */
export const MEANINGS: Record<State, string> = {
  queued: "wanted; no cluster knows of it yet",
  submitting: "being handed to the cluster",
  pending: "the cluster has it and has not begun",
  running: "training",
  paused: "waits for its job to leave; then it goes on from its newest checkpoint, or ends",
  done: "took all its steps",
  failed: "ended before its last step",
  cancelled: "stopped on request",
};
