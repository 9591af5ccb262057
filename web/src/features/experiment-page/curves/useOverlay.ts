/** The overlaid curves of an experiment: one series of all its runs on a common x axis. */
import { useMemo } from "react";
import { usePollInterval } from "@/shared/api/polling";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { alignColumns, type Aligned, smooth } from "@/shared/curves/column";
import { type NotFinite, refine } from "@/shared/curves/curve";
import { useCurves } from "@/shared/curves/useCurves";
import type { StepRange } from "@/shared/curves/view";
import { inAxis, placed, placesOf, reportedBy, stepsOf, X_SERIES } from "@/shared/curves/xAxis";
import type { Line } from "@/shared/plot/view";
import { resultRange, robustRange, type YRange } from "@/shared/plot/yRange";
import { hasEnded } from "@/shared/state/state";
import type { LineStyles } from "../lineStyles";
import type { CurveOptions } from "./CurvesToolbar";

const MAX_DOTTED = 3; // curves; more of them show no dots

export interface Overlay {
  lines: Line[];
  aligned: Aligned;
  notFinite: NotFinite[][]; // of each line
  restarts: number[][]; // of each line: where its run resumed
}

export function useOverlay(
  experiment: ExperimentDetail,
  runs: RunView[],
  lineStyles: LineStyles,
  { kind, axis, smoothed }: CurveOptions,
  shown: StepRange, // of the x axis
): Overlay {
  const restarts = runs.reduce((sum, run) => sum + Math.max(0, run.attempt - 1), 0);
  const pollInterval = usePollInterval();
  const every = pollInterval(!hasEnded(experiment.state));
  // by step no places are needed: the same query again costs nothing
  const places = useCurves(experiment.id, X_SERIES[axis] ?? kind.name, { every, restarts });
  const curves = useCurves(experiment.id, kind.name, { every, restarts });
  const range = stepsOf(shown, axis, [...places.values()].map(reportedBy));
  const finer = useCurves(experiment.id, kind.name, { every, restarts, range });
  const isSmoothed = smoothed && (kind.noisy ?? false);
  const drawn = useMemo(
    () => [...curves].map(([id, curve]) => refine(curve, finer.get(id))),
    [curves, finer],
  );
  const ids = useMemo(() => [...curves.keys()], [curves]);
  const aligned = useMemo(() => {
    const columns = drawn.map((curve, at) => {
      const column = isSmoothed ? smooth(curve.mean) : curve.envelope;
      return inAxis(column, axis, reportedBy(places.get(ids[at] ?? 0)));
    });
    return alignColumns(columns);
  }, [drawn, ids, isSmoothed, axis, places]);
  const byId = new Map(runs.map((run) => [run.id, run]));
  const lines = ids.map((id) => ({
    key: String(id),
    label: `Run ${id}`,
    dots: !kind.noisy && curves.size <= MAX_DOTTED,
    ...lineStyles.of(byId.get(id)),
  }));
  const notFinite = drawn.map((curve, at) =>
    placed(curve.notFinite, axis, reportedBy(places.get(ids[at] ?? 0))),
  );
  const resumed = drawn.map((curve, at) =>
    placesOf(curve.restarts, axis, reportedBy(places.get(ids[at] ?? 0))),
  );
  return { lines, aligned, notFinite, restarts: resumed };
}

interface DrawnOverlay {
  lines: Line[];
  aligned: Aligned;
}

/** The range of y of the overlaid curves, where the whole range would hide what they differ in. */
export function useYRange(
  { lines, aligned }: DrawnOverlay,
  { kind, logarithmic, whole }: CurveOptions,
  hidden: ReadonlySet<string>,
): { range: YRange | null; hasRange: boolean } {
  const keys = lines.map(({ key }) => key).join(" ");
  const found = useMemo(() => {
    const shown = keys.split(" ");
    const ys = aligned.ys.filter((_, index) => !hidden.has(shown[index] ?? ""));
    if (kind.ceiling === 1) return resultRange(ys);
    return logarithmic && kind.logarithmic ? null : robustRange(ys);
  }, [aligned, keys, hidden, kind, logarithmic]);
  return { range: whole ? null : found, hasRange: found !== null };
}
