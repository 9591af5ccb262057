/** The split of a step's time: compute, update, communication, and waiting for input or for slower ranks. */
import type { Aligned } from "@/shared/curves/column";
import type { Curve } from "@/shared/curves/curve";
import {
  COMPUTE_S,
  FACTORS_S,
  IDLE_S,
  INVERSES_S,
  KFAC_PARTS,
  PRECONDITION_S,
  SLOWEST_RANK,
  UPDATE_S,
} from "@/shared/series/catalog";
import { KFAC_PART, type Part, PARTS } from "@/shared/series/timeParts";
import type { Series } from "../api/usePoints";

const CONTAINED = new Map([
  [COMPUTE_S, [FACTORS_S]],
  [UPDATE_S, [INVERSES_S, PRECONDITION_S]],
]); // what a part of the engine has of K-FAC
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
  if (!x.length) return null;
  const isWhole = (name: string) => series[name]?.mean.steps.length === x.length;
  const details = KFAC_PARTS.filter(isWhole);
  const parts: Part[] = PARTS.filter((part) => isWhole(part.name)).flatMap((part): Part[] =>
    part.name === UPDATE_S && details.length ? [part, KFAC_PART] : [part],
  );
  const timeOf = (part: Part, measure: (curve: Curve | undefined) => number) => {
    if (part === KFAC_PART) return add(details, measure);
    const contained = details.filter((name) => CONTAINED.get(part.name)?.includes(name));
    return Math.max(0, measure(series[part.name]) - add(contained, measure));
  };
  const add = (names: string[], measure: (curve: Curve | undefined) => number) =>
    names.reduce((sum, name) => sum + measure(series[name]), 0);
  const per = Math.ceil(x.length / BINS);
  const ends = Array.from({ length: Math.ceil(x.length / per) }, (_, bin) =>
    Math.min((bin + 1) * per, x.length),
  );
  const steps = ends.map((end) => x[end - 1] ?? 0);
  const ys = parts.map((part) => ends.map((end) => timeOf(part, (curve) => mean(curve, end - per, end))));
  const totals = parts.map((part) => timeOf(part, (curve) => sumUp(curve, 0, x.length).sum));
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
