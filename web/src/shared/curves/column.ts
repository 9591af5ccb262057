/** Columns of points: append new points, smooth a column, align columns on one x axis. */
import uPlot from "uplot";
import type { Column } from "@/shared/api/types";

const HUGE = 1e290; // a sum of so many smaller values as a chart has is a number

export type Values = (number | null | undefined)[];

/** Columns on one x axis: null is a gap, undefined a step without a value. */
export interface Aligned {
  x: number[];
  ys: Values[];
}

/** Return `known` up to step `after`, followed by `fresh`. */
export function append(known: Column | undefined, fresh: Column, after: number): Column {
  if (!known || after < 0) return fresh;
  let length = known.steps.length;
  while (length > 0 && (known.steps[length - 1] ?? -1) > after) length -= 1;
  if (length === known.steps.length && !fresh.steps.length) return known;
  return {
    steps: known.steps.slice(0, length).concat(fresh.steps),
    values: known.values.slice(0, length).concat(fresh.values),
  };
}

export function lastStep(column: Column | undefined): number {
  return column?.steps.at(-1) ?? -1;
}

/** Align columns on one x axis. */
export function alignColumns(columns: Column[]): Aligned {
  const [first] = columns;
  if (!first) return { x: [], ys: [] };
  if (columns.length === 1) return { x: first.steps, ys: [first.values] };
  const [x, ...ys] = uPlot.join(columns.map((column) => [column.steps, column.values]));
  return { x: x as number[], ys: ys as Values[] };
}

/** Return centered moving averages over a share of the column, without a lag; gaps remain gaps. */
export function smooth(column: Column, share = 1 / 40): Column {
  const { steps, values } = column;
  const sums = [0];
  const counts = [0];
  // the sum of the largest numbers is no number; a power of two changes no digit
  const scale = values.some((value) => Math.abs(value ?? 0) > HUGE) ? 2 ** -32 : 1;
  values.forEach((value, index) => {
    sums.push((sums[index] ?? 0) + (value ?? 0) * scale);
    counts.push((counts[index] ?? 0) + (value === null ? 0 : 1));
  });
  const half = Math.floor((values.length * share) / 2);
  const smoothed = values.map((value, index) => {
    if (value === null) return null;
    // The window is symmetric; otherwise the ends of a slope would bend towards its middle.
    const reach = Math.max(Math.min(half, index, values.length - 1 - index), Math.min(half, 3));
    const [from, to] = [Math.max(0, index - reach), Math.min(values.length, index + reach + 1)];
    return ((sums[to] ?? 0) - (sums[from] ?? 0)) / ((counts[to] ?? 0) - (counts[from] ?? 0)) / scale;
  });
  return { steps, values: smoothed };
}

/** Return the value of a line at a place: that of its last point up to there, else of its first one. */
export function valueAt(
  x: readonly number[],
  values: readonly Values[number][],
  place: number,
): number | null {
  let found: number | null = null;
  for (const [index, at] of x.entries()) {
    if (at > place && found !== null) break;
    const value = values[index];
    if (typeof value === "number") found = value;
  }
  return found;
}
