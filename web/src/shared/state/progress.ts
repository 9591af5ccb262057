/** The progress of a run in steps. */
import type { RunView } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";

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
