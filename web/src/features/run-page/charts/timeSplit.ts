/** The split of a step's time: compute, update, communication, and waiting for input or for slower ranks. */
import type { Aligned } from "@/shared/curves/column";
import { type Curve, sumOf } from "@/shared/curves/curve";
import {
  COMPUTE_S,
  FACTORS_S,
  IDLE_S,
  INVERSES_S,
  KFAC_PART,
  KFAC_PARTS,
  type Part,
  PARTS,
  PRECONDITION_S,
  SLOWEST_RANK,
  UPDATE_S,
} from "@/shared/series/catalog";
import { fence, type YRange } from "@/shared/plot/yRange";
import type { Series } from "../series";

const CONTAINED = new Map([
  [COMPUTE_S, [FACTORS_S]],
  [UPDATE_S, [INVERSES_S, PRECONDITION_S]],
]); // what a part of the engine has of K-FAC
const FEWEST = 4; // bins: among fewer ones none is far out
const BINS = 160; // a page is too narrow for single steps, so each bin is an average

export interface TimeSplit {
  parts: Part[]; // that the run reports
  means: Aligned; // seconds per step of every part, per bin
  stack: Aligned; // the same as a stack
  whole: number[]; // mean seconds of every part over all steps
  steps: number; // of these means
}

/** Return the split, or null before the first step. */
export function splitTime(series: Series): TimeSplit | null {
  const x = series.get(COMPUTE_S)?.mean.steps ?? [];
  if (!x.length) return null;
  const isWhole = (name: string) => series.get(name)?.mean.steps.length === x.length;
  const details = KFAC_PARTS.filter(isWhole);
  const parts: Part[] = PARTS.filter((part) => isWhole(part.name)).flatMap((part): Part[] =>
    part.name === UPDATE_S && details.length ? [part, KFAC_PART] : [part],
  );
  const timeOf = (part: Part, measure: (curve: Curve | undefined) => number) => {
    if (part === KFAC_PART) return add(details, measure);
    const contained = details.filter((name) => CONTAINED.get(part.name)?.includes(name));
    return Math.max(0, measure(series.get(part.name)) - add(contained, measure));
  };
  const add = (names: string[], measure: (curve: Curve | undefined) => number) =>
    names.reduce((sum, name) => sum + measure(series.get(name)), 0);
  const per = Math.ceil(x.length / BINS);
  const ends = Array.from({ length: Math.ceil(x.length / per) }, (_, bin) =>
    Math.min((bin + 1) * per, x.length),
  );
  const steps = ends.map((end) => x[end - 1] ?? 0);
  const ys = parts.map((part) => ends.map((end) => timeOf(part, (curve) => mean(curve, end - per, end))));
  return {
    parts,
    means: { x: steps, ys },
    stack: { x: steps, ys: stacked(ys) },
    whole: parts.map((part) => timeOf(part, (curve) => mean(curve, 0, x.length))),
    steps: sumOf(series.get(COMPUTE_S)).count,
  };
}

/** Return the share of each part in their sum. */
export function sharesOf(seconds: readonly number[]): number[] {
  const total = seconds.reduce((sum, value) => sum + value, 0) || 1;
  return seconds.map((part) => part / total);
}

/** Return the range without the times far above the others, such as that of a first step; null where all are near. */
export function nearRange({ stack }: TimeSplit): (YRange & { most: number; at: number }) | null {
  const totals = stack.ys.at(-1)?.map((value) => value ?? 0) ?? [];
  const most = Math.max(...totals);
  const bound = fence(totals);
  const near = totals.filter((total) => total <= bound);
  if (totals.length < FEWEST || near.length === totals.length) return null;
  const at = stack.x[totals.indexOf(most)] ?? 0;
  return { low: 0, high: Math.max(...near), cut: totals.length - near.length, most, at };
}

/** Return the rank that was the slowest most often, and its share of the steps that are shown; null for a single rank. */
export function slowestRank(series: Series): { rank: number; share: number } | null {
  const ranks = (series.get(SLOWEST_RANK)?.last.values ?? []).filter((rank) => rank !== null);
  const waited = (series.get(IDLE_S)?.envelope.values ?? []).some((idle) => (idle ?? 0) > 0);
  if (!ranks.length || !waited) return null;
  const times = new Map<number, number>();
  for (const rank of ranks) times.set(rank, (times.get(rank) ?? 0) + 1);
  const [rank, most] = [...times].reduce((one, other) => (other[1] > one[1] ? other : one));
  return { rank, share: most / ranks.length };
}

function mean(curve: Curve | undefined, from: number, to: number): number {
  const { sum, count } = sumOf(curve, Math.max(0, from), to);
  return sum / Math.max(1, count);
}

function stacked(ys: number[][]): number[][] {
  return ys.reduce<number[][]>((layers, values) => {
    const below = layers.at(-1);
    return [...layers, values.map((value, index) => value + (below?.[index] ?? 0))];
  }, []);
}
