/** The range of y that shows the curves: one that is far out does not flatten all others, and is named instead. */
import type { Values } from "@/shared/curves/column";

const FEWEST = 4; // curves: among fewer ones none is far out
const FENCE = 3; // interquartile ranges: Tukey's "far out"
const NARROW = 0.1; // results within this share of the whole range are results that the whole range flattens
const LATE = 0.5; // of the points of a curve: its results
const MARGIN = 0.6; // of the results' range, left below them

export interface YRange {
  low: number;
  high: number;
  cut: number; // curves that leave the range
}

interface Extremes {
  least: number;
  most: number;
  late: number; // the least value of the curve's later part
}

/** Return the range of curves whose values are shares up to 1: where all results lie near the top, that part. */
export function resultRange(ys: Values[]): YRange | null {
  const found = ys.flatMap((values) => extremesOf(values) ?? []);
  if (found.length < 2) return null; // a single curve hides no other
  const [least, most] = [
    Math.min(...found.map((one) => one.least)),
    Math.max(...found.map((one) => one.most)),
  ];
  const late = Math.min(...found.map((one) => one.late));
  if (most - late > NARROW * (most - least)) return null;
  const low = late - MARGIN * (most - late || NARROW * (most - least));
  return { low, high: most, cut: found.filter((one) => one.least < low).length };
}

/** Return the range without the curves whose values are far beyond those of the others; null where all are near. */
export function robustRange(ys: Values[]): YRange | null {
  const found = ys.flatMap((values) => extremesOf(values) ?? []);
  if (found.length < FEWEST) return null;
  const high = fence(found.map((one) => one.most));
  const low = -fence(found.map((one) => -one.least));
  const near = found.filter((one) => one.most <= high && one.least >= low);
  if (near.length === found.length || !near.length) return null;
  return {
    low: Math.min(...near.map((one) => one.least)),
    high: Math.max(...near.map((one) => one.most)),
    cut: found.length - near.length,
  };
}

/** Return the value beyond which one of the values is far out. */
export function fence(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const quartile = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const [q1, q3] = [quartile(0.25), quartile(0.75)];
  // equal curves have no interquartile range; then ten times their size is far
  const spread = Math.max(q3 - q1, Math.abs(q3) / FENCE);
  return q3 + FENCE * spread;
}

function extremesOf(values: Values): Extremes | null {
  let [least, most, late] = [Infinity, -Infinity, Infinity];
  const from = LATE * values.length;
  values.forEach((value, index) => {
    if (typeof value !== "number") return;
    if (value < least) least = value;
    if (value > most) most = value;
    if (index >= from && value < late) late = value;
  });
  if (least > most) return null;
  return { least, most, late: late === Infinity ? most : late };
}

const LEAST = 2 ** -46; // of the numbers' size: their last 64 steps, of which fewer make no picture
const PADDING = 0.08; // of the width, above and below

/** Return a range of numbers whose difference is a number, too. */
export function bounded(low: number, high: number): [number, number] {
  const [from, to] = [Math.max(low, -Number.MAX_VALUE), Math.min(high, Number.MAX_VALUE)];
  return Number.isFinite(to - from)
    ? [from, to]
    : [Math.max(from, -Number.MAX_VALUE / 2), Math.min(to, Number.MAX_VALUE / 2)];
}

/** Return whether a range is too narrow for ticks: its ends are the same number, or nearly. */
export function isFlat(low: number, high: number): boolean {
  return !(high - low > Math.max(Math.abs(low), Math.abs(high)) * LEAST);
}

interface Ends {
  fromZero: boolean; // the range of values above 0 begins at 0
  ceiling?: number | undefined; // the greatest value that there can be
}

/** Return the range with a margin on both sides; values above 0 need none below 0. */
export function paddedRange(low: number, high: number, { fromZero, ceiling }: Ends): [number, number] {
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const margin = isFlat(low, high) ? size : high * PADDING - low * PADDING;
  const below = low - margin;
  const from = low >= 0 && (fromZero || below < 0) ? 0 : below;
  const top = high + margin;
  return bounded(from, ceiling === undefined ? top : Math.min(top, Math.max(ceiling, high)));
}
