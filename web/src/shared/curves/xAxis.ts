/** The x axes of all charts of curves. Where a step is on an axis follows from series that the run reports. */
import type { Column } from "@/shared/api/types";
import type { Unit } from "@/shared/format/position";
import { BATCH, EPOCH, TRAINED_S } from "@/shared/series/catalog";
import type { Curve } from "./curve";
import type { StepRange } from "./view";

export const X_AXES = ["step", "epoch", "samples", "seconds", "device_hours"] as const;
export type XAxis = (typeof X_AXES)[number];

/** The series from which the places on an axis follow. */
export const X_SERIES: Record<XAxis, string | null> = {
  step: null,
  epoch: EPOCH,
  samples: BATCH,
  seconds: TRAINED_S,
  device_hours: TRAINED_S,
};

export const X_TITLES: Record<XAxis, string> = {
  step: "step",
  epoch: "epoch",
  samples: "samples",
  seconds: "seconds of training",
  device_hours: "device-hours",
};

export const X_UNITS: Record<XAxis, Unit> = {
  step: "step",
  epoch: "epoch",
  samples: "samples",
  seconds: "s",
  device_hours: "device-hours",
};

/** Return whether the places on an axis are whole numbers. */
export function isCounted(axis: XAxis): boolean {
  return axis === "step" || axis === "samples";
}

const HOUR_S = 3600;

/** Return the axis that a text of the address names; the steps without one. */
export function readAxis(text: string | null | undefined): XAxis {
  return X_AXES.find((axis) => axis === text) ?? "step";
}

/** Return the axes for which one of the names is reported, and the chosen one. */
export function offeredAxes(names: Iterable<string>, chosen: XAxis): [XAxis, string][] {
  const reported = new Set(names);
  const isOffered = (axis: XAxis) => {
    const series = X_SERIES[axis];
    return axis === chosen || series === null || reported.has(series);
  };
  return X_AXES.filter(isOffered).map((axis) => [axis, X_TITLES[axis]]);
}

/** What a run reports of its places on an axis. */
export interface Reported {
  known: Column | undefined; // the axis's series: means of buckets at their middles
  devices: number;
}

interface Mark {
  step: number;
  at: number;
}

/** Return the places of steps on an axis; none for a run that does not report them. */
export function placesOf(steps: readonly number[], axis: XAxis, reported: Reported): number[] {
  if (axis === "step") return [...steps];
  const marks = marksOf(axis, reported);
  if (marks.length < 2) return [];
  let at = 1;
  return steps.map((step) => {
    while (at < marks.length - 1 && (marks[at]?.step ?? 0) < step) at += 1;
    return between(marks[at - 1], marks[at], step);
  });
}

/** Return the column by an axis; an empty one for a run that does not report its places. */
export function inAxis({ steps, values }: Column, axis: XAxis, reported: Reported): Column {
  const places = placesOf(steps, axis, reported);
  return { steps: places, values: places.length ? values : [] };
}

/** Return what has a step with its place on the axis; nothing for a run that does not report its places. */
export function placed<T extends { step: number }>(
  found: readonly T[],
  axis: XAxis,
  reported: Reported,
): T[] {
  const places = placesOf(
    found.map(({ step }) => step),
    axis,
    reported,
  );
  return found.slice(0, places.length).map((each, at) => ({ ...each, step: places[at] ?? 0 }));
}

/** Return what a run reports by the curve of the axis's series. */
export function reportedBy(curve: Curve | undefined): Reported & { end: number } {
  return { known: curve?.middles, devices: curve?.devices ?? 1, end: curve?.end ?? 0 };
}

/** Return the steps in which the runs are in a range of an axis; `end` is the last step of a run. */
export function stepsOf(
  range: StepRange,
  axis: XAxis,
  runs: Iterable<Reported & { end: number }>,
): StepRange {
  if (!range || axis === "step") return range;
  const [from, to] = range;
  const steps = [...runs].flatMap((run) => {
    const marks = marksOf(axis, run);
    const before = marks.findLast((mark) => mark.at <= from)?.step ?? 0;
    return [before, marks.find((mark) => mark.at >= to)?.step ?? run.end];
  });
  return steps.length ? [Math.min(...steps), Math.max(...steps)] : null;
}

/** Return the reported places in the order of their steps, with 0 at step 0. */
function marksOf(axis: XAxis, { known, devices }: Reported): Mark[] {
  const marks: Mark[] = [{ step: 0, at: 0 }];
  for (const [index, step] of known?.steps.entries() ?? []) {
    const value = known?.values[index];
    const before = marks.at(-1);
    if (typeof value !== "number" || !before) continue;
    // a batch is the number of samples of each step since the report before
    const at = axis === "samples" ? before.at + value * (step - before.step) : value * scaleOf(axis, devices);
    if (step > before.step && at >= before.at) marks.push({ step, at });
  }
  return marks;
}

function scaleOf(axis: XAxis, devices: number): number {
  return axis === "device_hours" ? devices / HOUR_S : 1;
}

/** Return the place of a step on the line through two marks, also beyond them. */
function between(from: Mark | undefined, to: Mark | undefined, step: number): number {
  if (!from || !to) return 0;
  return from.at + ((step - from.step) / (to.step - from.step)) * (to.at - from.at);
}
