/** What a step shows of its state, its runs and its time. */
import type { State, StepState, StepView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatDuration, formatRoughly, secondsBetween } from "@/shared/format/time";
import { countsText } from "@/shared/state/StateBar";

/** The state of a run whose shape and color show the state of a step. */
export const MARK_OF: Record<StepState, State> = {
  waiting: "queued",
  running: "running",
  done: "done",
  failed: "failed",
  skipped: "cancelled",
  cancelled: "cancelled",
};

/** Return the runs of a step: "3 of 8 runs done", "8 runs", "a run for each value of a list". */
export function runsText({ size, counts, expanded_at }: StepView): string {
  if (size === null) return "as many runs as the list has values";
  if (!expanded_at) return pluralize(size, "run");
  if (!size) return "no runs";
  const { done = 0 } = counts;
  return done === size ? `${pluralize(size, "run")} done` : `${done} of ${pluralize(size, "run")} done`;
}

/** Return how long a step took, how long it still takes, or how long it took the last time. */
export function timeText(step: StepView, now: number): string {
  const { state, duration_s: duration, predicted_end: end } = step;
  if (state === "running") {
    if (end) return `about ${formatRoughly(Math.max(1, -secondsBetween(end, now)))} more`;
    return step.expanded_at
      ? `for ${formatDuration(Math.max(0, secondsBetween(step.expanded_at, now)))}`
      : "";
  }
  if (duration === null) return "";
  return state === "waiting" ? `${formatRoughly(duration)} the last time` : formatDuration(duration);
}

/** Return what colors and lines show of a step: the states of its runs, and whether it decides when the last one ends. */
export function hiddenText(step: StepView): string {
  const runs = step.expanded_at && step.size ? countsText(step.counts) : "";
  return [runs, step.is_critical && "on the critical path"].filter(Boolean).join(", ");
}
