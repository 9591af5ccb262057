/** The split of a step's time: compute, update, communication, and waiting for input or for slower ranks. */
import type { Aligned } from "@/shared/curves/column";
import type { Curve } from "@/shared/curves/curve";
import { COMPUTE_S, IDLE_S, SLOWEST_RANK } from "@/shared/series/catalog";
import { type Part, PARTS } from "@/shared/series/timeParts";
import type { Series } from "../api/usePoints";

const BINS = 160; // a page is too narrow for single steps, so each bin is an average

export interface TimeSplit {
  parts: Part[]; // that the run reports
  means: Aligned; // seconds per step of every part, per bin
  stack: Aligned; // the same as a stack
  shares: number[]; // of the total time; their sum is 1
}

/** Return the split, or null before the first step. */
export function splitTime(series: Series): TimeSplit | null {
  const x = series[COMPUTE_S]?.mean.steps ?? [];
  const parts = PARTS.filter((part) => series[part.name]?.mean.steps.length === x.length);
  const curves = parts.map((part) => series[part.name]);
  if (!x.length) return null;
  const per = Math.ceil(x.length / BINS);
  const ends = Array.from({ length: Math.ceil(x.length / per) }, (_, bin) =>
    Math.min((bin + 1) * per, x.length),
  );
  const steps = ends.map((end) => x[end - 1] ?? 0);
  const ys = curves.map((curve) => ends.map((end) => mean(curve, end - per, end)));
  const totals = curves.map((curve) => sumUp(curve, 0, x.length).sum);
  const total = totals.reduce((sum, value) => sum + value, 0) || 1;
  return {
    parts,
    means: { x: steps, ys },
    stack: { x: steps, ys: stacked(ys) },
    shares: totals.map((part) => part / total),
  };
}

/** Return the rank that was the slowest most often, and its share of the steps that are shown; null for a single rank. */
export function slowestRank(series: Series): { rank: number; share: number } | null {
  const ranks = (series[SLOWEST_RANK]?.last.values ?? []).filter((rank) => rank !== null);
  const waited = (series[IDLE_S]?.envelope.values ?? []).some((idle) => (idle ?? 0) > 0);
  if (!ranks.length || !waited) return null;
  const times = new Map<number, number>();
  for (const rank of ranks) times.set(rank, (times.get(rank) ?? 0) + 1);
  const [rank, most] = [...times].reduce((one, other) => (other[1] > one[1] ? other : one));
  return { rank, share: most / ranks.length };
}

function mean(curve: Curve | undefined, from: number, to: number): number {
  const { sum, count } = sumUp(curve, Math.max(0, from), to);
  return sum / Math.max(1, count);
}

/** Return the sum over the points of some buckets, and their number; a bucket has the mean of its points. */
function sumUp(curve: Curve | undefined, from: number, to: number): { sum: number; count: number } {
  let [sum, count] = [0, 0];
  for (let at = from; at < to; at += 1) {
    const [value, size] = [curve?.mean.values[at] ?? null, curve?.counts[at] ?? 0];
    if (value === null) continue;
    sum += value * size;
    count += size;
  }
  return { sum, count };
}

function stacked(ys: number[][]): number[][] {
  return ys.reduce<number[][]>((layers, values) => {
    const below = layers.at(-1);
    return [...layers, values.map((value, index) => value + (below?.[index] ?? 0))];
  }, []);
}
