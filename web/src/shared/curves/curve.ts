/** A curve as a chart draws it: from the buckets of the API, which have few points for each pixel. */
import type { BucketedCurve, Column, RunBucketedCurve } from "@/shared/api/types";
import { append, lastStep } from "./column";

export interface Curve {
  /** The least and the greatest value of each bucket, so that no spike is lost; of a single point its value. */
  envelope: Column;
  mean: Column; // of each bucket
  last: Column; // of each bucket
  middles: Column; // the means at the middles of the buckets, for interpolation
  counts: number[]; // points of each bucket
  end: number; // the last step of the whole series
  devices: number; // of the run
  restarts: readonly number[]; // steps from which attempts resumed
  notFinite: NotFinite[];
}

/** Where a curve has a value that is not a finite number. */
export interface NotFinite {
  step: number;
  kind: "nan" | "infinity" | "minus_infinity";
}

const KINDS = ["nan", "infinity", "minus_infinity"] as const;
const MOST_FACTOR = 2.5; // of the buckets that a chart asks for

/** Return `known` with the buckets of the answer, which replace those from their first step on. */
export function grow(
  known: Curve | undefined,
  fresh: BucketedCurve & Partial<Pick<RunBucketedCurve, "devices" | "restarts">>,
): Curve {
  const { steps, counts, mean, last } = fresh;
  const notFinite = KINDS.flatMap((kind) => fresh[kind].map((step) => ({ step, kind })));
  const facts = { end: fresh.last_step, devices: fresh.devices ?? 1, restarts: fresh.restarts ?? [] };
  const middles = { steps: middlesOf(fresh), values: mean };
  const first = steps[0];
  if (!known || first === undefined)
    return known && first === undefined
      ? known
      : {
          envelope: envelopeOf(fresh, null),
          mean: { steps, values: mean },
          last: { steps, values: last },
          middles,
          counts,
          ...facts,
          notFinite,
        };
  const after = first - 1;
  const length = known.mean.steps.findLastIndex((step) => step <= after) + 1;
  return {
    envelope: append(known.envelope, envelopeOf(fresh, known.mean.values[length - 1] ?? null), after),
    mean: append(known.mean, { steps, values: mean }, after),
    last: append(known.last, { steps, values: last }, after),
    middles: append(known.middles, middles, after),
    counts: known.counts.slice(0, length).concat(counts),
    ...facts,
    notFinite: known.notFinite.filter(({ step }) => step <= after).concat(notFinite),
  };
}

/** Return the steps in the middle of the buckets. */
export function middlesOf({ steps, width, last_step }: Pick<BucketedCurve, "steps" | "width" | "last_step">) {
  return steps.map((step) => Math.min(step + (width - 1) / 2, last_step));
}

/** Return the first step of the last bucket, which a growing curve asks for again; -1 without one. */
export function lastBucket(curve: Curve | undefined): number {
  return lastStep(curve?.mean);
}

/** Return whether a curve has grown to so many buckets that wider ones would do. */
export function isTooFine(curve: Curve, buckets: number): boolean {
  return curve.counts.length > MOST_FACTOR * buckets;
}

/** Return the whole curve with the finer buckets of a part in their place. */
export function refine(whole: Curve, part: Curve | undefined): Curve {
  const [first, last] = [part?.envelope.steps[0], part?.envelope.steps.at(-1)];
  if (!part || part === whole || first === undefined || last === undefined) return whole;
  const splice = (name: "envelope" | "mean" | "last"): Column => {
    const [from, to] = [countBelow(whole[name].steps, first), countBelow(whole[name].steps, last + 1)];
    const { steps, values } = whole[name];
    return {
      steps: [...steps.slice(0, from), ...part[name].steps, ...steps.slice(to)],
      values: [...values.slice(0, from), ...part[name].values, ...values.slice(to)],
    };
  };
  const [from, to] = [countBelow(whole.mean.steps, first), countBelow(whole.mean.steps, last + 1)];
  return {
    ...whole,
    envelope: splice("envelope"),
    mean: splice("mean"),
    last: splice("last"),
    counts: [...whole.counts.slice(0, from), ...part.counts, ...whole.counts.slice(to)],
    notFinite: whole.notFinite.filter(({ step }) => step < first || step > last).concat(part.notFinite),
  };
}

function countBelow(steps: number[], step: number): number {
  const at = steps.findIndex((each) => each >= step);
  return at < 0 ? steps.length : at;
}

/** Return the sum over the points of some buckets, and their number; a bucket has the mean of its points. */
export function sumOf(
  curve: Curve | undefined,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): { sum: number; count: number } {
  const { counts, mean } = curve ?? { counts: [], mean: { values: [] } };
  let [sum, count] = [0, 0];
  for (const [at, size] of counts.slice(from, to).entries()) {
    const value = mean.values[from + at];
    if (typeof value !== "number") continue;
    sum += value * size;
    count += size;
  }
  return { sum, count };
}

/** Return the mean of all points, whatever the buckets; null without a value. */
export function meanOf(curve: Curve | undefined): number | null {
  const { sum, count } = sumOf(curve);
  return count ? sum / count : null;
}

/** Return the mean over about the last `points` points, null without a value. */
export function recentMean(curve: Curve | undefined, points: number): number | null {
  let [count, inverse] = [0, 0];
  if (!curve) return null;
  for (let at = curve.counts.length - 1; at >= 0 && count < points; at -= 1) {
    const [value, size] = [curve.mean.values[at] ?? 0, curve.counts[at] ?? 0];
    if (value <= 0) continue;
    count += size;
    inverse += size / value; // the harmonic mean: times add up, rates do not
  }
  return count ? count / inverse : null;
}

/** Return one or two points for each bucket: the first one is the extreme that is nearer to the bucket before. */
function envelopeOf(curve: BucketedCurve, before: number | null): Column {
  const envelope: Column = { steps: [], values: [] };
  let previous = before;
  for (const [at, step] of curve.steps.entries()) {
    const mean = curve.mean[at] ?? previous;
    const extremes = [curve.min[at] ?? null, curve.max[at] ?? null] as const;
    const [first, second] = (previous ?? 0) > (mean ?? 0) ? [extremes[1], extremes[0]] : extremes;
    envelope.steps.push(step);
    envelope.values.push(first);
    const place = secondPlace(curve, step, first !== second);
    if (place !== null) {
      envelope.steps.push(place);
      envelope.values.push(second);
    }
    previous = mean;
  }
  return envelope;
}

/** Return the step at which the second extreme of a bucket is drawn; null if the first one is enough. */
function secondPlace({ width, last_step }: BucketedCurve, step: number, differs: boolean): number | null {
  const isLast = step + width > last_step; // the chart of a growing curve reaches its newest step
  if (isLast) return step < last_step ? last_step : null;
  return differs ? step + Math.max(1, Math.floor(width / 2)) : null;
}
