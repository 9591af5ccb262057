/** The x axis of a run's charts, and where the steps of the run are on it. */
import { useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { type StepRange, useAxis } from "@/shared/curves/view";
import type { Curve } from "@/shared/curves/curve";
import {
  inAxis,
  placed,
  placesOf,
  reportedBy,
  stepsOf,
  X_SERIES,
  X_UNITS,
  type XAxis,
} from "@/shared/curves/xAxis";
import type { Unit } from "@/shared/format/position";
import type { Series } from "./series";

export interface Place {
  axis: XAxis;
  unit: Unit;
  first: number; // the place of the first step with a value
  last: number; // of the newest step
  of: (steps: readonly number[]) => number[];
  series: (series: Series) => Series;
  stepsOf: (range: StepRange) => StepRange;
}

export function usePlace(run: RunDetail, series: Series): Place {
  const axis = useAxis();
  const curve = series.get(X_SERIES[axis] ?? "");
  const { step, devices } = run;
  const first = Math.min(...[...series.values()].flatMap(({ mean }) => mean.steps[0] ?? []));
  return useMemo(() => {
    const reported = { ...reportedBy(curve), devices };
    const of = (steps: readonly number[]) => placesOf(steps, axis, reported);
    return {
      axis,
      of,
      unit: X_UNITS[axis],
      first: of([Number.isFinite(first) ? first : 0])[0] ?? 0,
      last: of([step])[0] ?? 0,
      series: (whole) => (axis === "step" ? whole : seriesBy(whole, axis, reported)),
      stepsOf: (range) => stepsOf(range, axis, [{ ...reported, end: step }]),
    };
  }, [axis, curve, devices, step, first]);
}

function seriesBy(whole: Series, axis: XAxis, reported: Parameters<typeof inAxis>[2]): Series {
  const by = (curve: Curve): Curve => ({
    ...curve,
    envelope: inAxis(curve.envelope, axis, reported),
    mean: inAxis(curve.mean, axis, reported),
    notFinite: placed(curve.notFinite, axis, reported),
  });
  return new Map([...whole].map(([name, curve]) => [name, by(curve)]));
}
