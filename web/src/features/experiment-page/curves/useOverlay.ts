/** The overlaid curves of an experiment: one series of all its runs on a common x axis. */
import { useMemo } from "react";
import { pollInterval } from "@/shared/api/polling";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { alignColumns, type Aligned, smooth } from "@/shared/curves/column";
import { useCurves } from "@/shared/curves/useCurves";
import type { Line } from "@/shared/plot/view";
import { EPOCH } from "@/shared/series/catalog";
import { hasEnded } from "@/shared/state/state";
import type { LineStyles } from "../lineStyles";
import type { CurveOptions } from "./useCurveOptions";
import { inEpochs } from "./epochs";

const MAX_DOTTED = 3; // curves; more of them show no dots

interface Overlay {
  lines: Line[];
  aligned: Aligned;
}

export function useOverlay(
  experiment: ExperimentDetail,
  runs: RunView[],
  lineStyles: LineStyles,
  { kind, byEpoch, smoothed }: CurveOptions,
): Overlay {
  const restarts = runs.reduce((sum, run) => sum + Math.max(0, run.attempt - 1), 0);
  const every = pollInterval(!hasEnded(experiment.state));
  const curves = useCurves(experiment.id, kind.name, every, restarts);
  // by step no epochs are needed: the same query again costs nothing
  const epochs = useCurves(experiment.id, byEpoch ? EPOCH : kind.name, every, restarts);
  const isSmoothed = smoothed && (kind.noisy ?? false);
  const aligned = useMemo(() => {
    const columns = [...curves].map(([id, column]) => (byEpoch ? inEpochs(column, epochs.get(id)) : column));
    return alignColumns(isSmoothed ? columns.map(smooth) : columns);
  }, [curves, isSmoothed, byEpoch, epochs]);
  const byId = new Map(runs.map((run) => [run.id, run]));
  const lines = [...curves.keys()].map((id) => ({
    key: String(id),
    label: `Run ${id}`,
    dots: !kind.noisy && curves.size <= MAX_DOTTED,
    ...lineStyles.of(byId.get(id)),
  }));
  return { lines, aligned };
}
