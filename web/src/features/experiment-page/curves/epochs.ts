/** Steps as epochs: a run reports its epoch at the end of each one, since its batch may change from epoch to epoch. */
import type { Column } from "@/shared/api/types";
import type { Curves } from "@/shared/curves/useCurves";
import type { StepRange } from "@/shared/curves/view";

interface Mark {
  step: number;
  epoch: number;
}

/** Return the column by epoch: between two reports in proportion to the steps; without a report there is no epoch. */
export function inEpochs({ steps, values }: Column, epochs: Column | undefined): Column {
  const marks = marksOf(epochs);
  if (marks.length < 2) return { steps: [], values: [] };
  let at = 1;
  const places = steps.map((step) => {
    while (at < marks.length - 1 && (marks[at]?.step ?? 0) < step) at += 1;
    return between(marks[at - 1], marks[at], step);
  });
  return { steps: places, values };
}

/** Return the steps in which the runs have the epochs of a range. */
export function stepsOf(range: StepRange, epochs: Curves): StepRange {
  if (!range) return null;
  const [from, to] = range;
  const steps = [...epochs.values()].flatMap((curve) => {
    const marks = marksOf(curve.last);
    const before = marks.findLast((mark) => mark.epoch <= from)?.step ?? 0;
    return [before, marks.find((mark) => mark.epoch >= to)?.step ?? curve.end];
  });
  return steps.length ? [Math.min(...steps), Math.max(...steps)] : null;
}

/** Return the reported epochs in the order of their steps, with epoch 0 at step 0. */
function marksOf(epochs: Column | undefined): Mark[] {
  const reported = (epochs?.steps ?? []).flatMap((step, index): Mark[] => {
    const epoch = epochs?.values[index];
    return typeof epoch === "number" && step > 0 ? [{ step, epoch }] : [];
  });
  return [{ step: 0, epoch: 0 }, ...reported];
}

/** Return the epoch of a step on the line through two marks, also beyond them. */
function between(from: Mark | undefined, to: Mark | undefined, step: number): number {
  if (!from || !to) return 0;
  return from.epoch + ((step - from.step) / (to.step - from.step)) * (to.epoch - from.epoch);
}
