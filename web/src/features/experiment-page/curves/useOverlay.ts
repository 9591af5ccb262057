/** The overlaid curves of an experiment: one series of all its runs on a common x axis. */
import { useMemo } from "react";
import { pollInterval } from "@/shared/api/polling";
import type { Column, ExperimentDetail, RunView } from "@/shared/api/types";
import { alignColumns, type Aligned, smooth } from "@/shared/curves/column";
import { type NotFinite, refine } from "@/shared/curves/curve";
import { useCurves } from "@/shared/curves/useCurves";
import type { StepRange } from "@/shared/curves/view";
import type { Line } from "@/shared/plot/view";
import { EPOCH } from "@/shared/series/catalog";
import { hasEnded } from "@/shared/state/state";
import type { LineStyles } from "../lineStyles";
import type { CurveOptions } from "./useCurveOptions";
import { inEpochs, stepsOf } from "./epochs";

const MAX_DOTTED = 3; // curves; more of them show no dots

interface Overlay {
  lines: Line[];
  aligned: Aligned;
  notFinite: NotFinite[][]; // of each line
}

export function useOverlay(
  experiment: ExperimentDetail,
  runs: RunView[],
  lineStyles: LineStyles,
  { kind, byEpoch, smoothed }: CurveOptions,
  shown: StepRange, // of the x axis
): Overlay {
  const restarts = runs.reduce((sum, run) => sum + Math.max(0, run.attempt - 1), 0);
  const every = pollInterval(!hasEnded(experiment.state));
  // by step no epochs are needed: the same query again costs nothing
  const epochs = useCurves(experiment.id, byEpoch ? EPOCH : kind.name, { every, restarts });
  const curves = useCurves(experiment.id, kind.name, { every, restarts });
  const range = byEpoch ? stepsOf(shown, epochs) : shown;
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
      return byEpoch ? inEpochs(column, epochs.get(ids[at] ?? 0)?.last) : column;
    });
    return alignColumns(columns);
  }, [drawn, ids, isSmoothed, byEpoch, epochs]);
  const byId = new Map(runs.map((run) => [run.id, run]));
  const lines = ids.map((id) => ({
    key: String(id),
    label: `Run ${id}`,
    dots: !kind.noisy && curves.size <= MAX_DOTTED,
    ...lineStyles.of(byId.get(id)),
  }));
  const notFinite = drawn.map((curve, at) =>
    byEpoch ? placesInEpochs(curve.notFinite, epochs.get(ids[at] ?? 0)?.last) : curve.notFinite,
  );
  return { lines, aligned, notFinite };
}

function placesInEpochs(found: NotFinite[], epochs: Column | undefined): NotFinite[] {
  return found.flatMap((each) => {
    const [step] = inEpochs({ steps: [each.step], values: [null] }, epochs).steps;
    return step === undefined ? [] : { ...each, step };
  });
}
