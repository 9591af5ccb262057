/** The x axis of a run's charts, and where the steps of the run are on it. */
import { useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { useAxis } from "@/shared/curves/axisAddress";
import type { StepRange } from "@/shared/curves/view";
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
import type { Series } from "./usePoints";

export interface Place {
  axis: XAxis;
  unit: Unit;
  last: number; // the place of the newest step
  of: (steps: readonly number[]) => number[];
  series: (series: Series) => Series;
  stepsOf: (range: StepRange) => StepRange;
}

export function usePlace(run: RunDetail, series: Series): Place {
  const axis = useAxis();
  const curve = series[X_SERIES[axis] ?? ""];
  const { step, devices } = run;
  return useMemo(() => {
    const reported = { ...reportedBy(curve), devices };
    const of = (steps: readonly number[]) => placesOf(steps, axis, reported);
    return {
      axis,
      of,
      unit: X_UNITS[axis],
      last: of([step])[0] ?? 0,
      series: (whole) => (axis === "step" ? whole : seriesBy(whole, axis, reported)),
      stepsOf: (range) => stepsOf(range, axis, [{ ...reported, end: step }]),
    };
  }, [axis, curve, devices, step]);
}

function seriesBy(whole: Series, axis: XAxis, reported: Parameters<typeof inAxis>[2]): Series {
  const by = Object.entries(whole).map(([name, curve]) => [
    name,
    {
      ...curve,
      envelope: inAxis(curve.envelope, axis, reported),
      mean: inAxis(curve.mean, axis, reported),
      notFinite: placed(curve.notFinite, axis, reported),
    },
  ]);
  return Object.fromEntries(by) as Series;
}
