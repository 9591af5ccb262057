/** Curves as the API and the charts have them, from columns of points. */
import type { BucketedCurve, Column } from "@/shared/api/types";
import { type Curve, grow } from "@/shared/curves/curve";

/** Return the answer of the API for a short series: each bucket is one point. */
export function bucketed({ steps, values }: Column): BucketedCurve {
  return {
    width: 1,
    first_step: steps[0] ?? 0,
    last_step: steps.at(-1) ?? 0,
    steps,
    counts: steps.map(() => 1),
    min: values,
    max: values,
    mean: values,
    last: values,
    nan: steps.filter((_, at) => values[at] === null),
    infinity: [],
    minus_infinity: [],
  };
}

/** Return the answer of the API for several short series. */
export function bucketedSeries(series: Record<string, Column>): { series: Record<string, BucketedCurve> } {
  return {
    series: Object.fromEntries(Object.entries(series).map(([name, column]) => [name, bucketed(column)])),
  };
}

/** Return the curve of successive values from step 1 on. */
export function curve(...values: (number | null)[]): Curve {
  return grow(undefined, bucketed({ steps: values.map((_, at) => at + 1), values }));
}

/** Return curves by their names, as the page of a run has them. */
export function seriesOf(curves: Record<string, Curve>): ReadonlyMap<string, Curve> {
  return new Map(Object.entries(curves));
}
