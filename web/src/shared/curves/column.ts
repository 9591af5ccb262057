/** Columns of points: put together as they come in, smoothed, laid over each other. */
import uPlot from "uplot";
import type { Column } from "@/shared/api/types";

export type Values = (number | null | undefined)[];

/** x and its columns as a chart draws them: null is a gap, undefined a step at which nothing was measured. */
export interface Sheet {
  x: number[];
  ys: Values[];
}

/** `known` up to step `after`, then `fresh`, which is all there is beyond. */
export function append(known: Column | undefined, fresh: Column, after: number): Column {
  if (!known || after < 0) return fresh;
  let keep = known.steps.length;
  while (keep > 0 && (known.steps[keep - 1] ?? -1) > after) keep -= 1;
  if (keep === known.steps.length && !fresh.steps.length) return known;
  return {
    steps: known.steps.slice(0, keep).concat(fresh.steps),
    values: known.values.slice(0, keep).concat(fresh.values),
  };
}

export function lastStep(column: Column | undefined): number {
  return column?.steps.at(-1) ?? -1;
}

/** Lay columns over one x axis. */
export function overlay(columns: Column[]): Sheet {
  const [first] = columns;
  if (!first) return { x: [], ys: [] };
  if (columns.length === 1) return { x: first.steps, ys: [first.values] };
  const [x, ...ys] = uPlot.join(columns.map((column) => [column.steps, column.values]));
  return { x: x as number[], ys: ys as Values[] };
}

/** The mean over about a fortieth of the column around each value, so that nothing lags behind; gaps stay gaps. */
export function smooth(column: Column): Column {
  const { steps, values } = column;
  const sums = [0];
  const counts = [0];
  values.forEach((value, index) => {
    sums.push((sums[index] ?? 0) + (value ?? 0));
    counts.push((counts[index] ?? 0) + (value === null ? 0 : 1));
  });
  const half = Math.floor(values.length / 80);
  const smoothed = values.map((value, index) => {
    if (value === null) return null;
    // even to both sides, or the ends of a slope would be drawn towards its middle
    const reach = Math.max(Math.min(half, index, values.length - 1 - index), Math.min(half, 3));
    const [from, to] = [Math.max(0, index - reach), Math.min(values.length, index + reach + 1)];
    return ((sums[to] ?? 0) - (sums[from] ?? 0)) / ((counts[to] ?? 0) - (counts[from] ?? 0));
  });
  return { steps, values: smoothed };
}
