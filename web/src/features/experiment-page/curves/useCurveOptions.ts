/** The reader's choices for the overlaid curves; before a choice of series, the first one of the experiment. */
import { useState } from "react";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { chartSeries, HELDOUT_ACCURACY, seriesKind, type SeriesKind } from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";

/** The choices of the reader. */
export interface Choices {
  name: string | null; // of the series; null: the first one
  byEpoch: boolean;
  smoothed: boolean;
  logarithmic: boolean;
  whole: boolean; // the whole range of y, with curves that are far out
}

export type CurveOptions = Choices & { kind: SeriesKind };

const DEFAULTS: Choices = { name: null, byEpoch: false, smoothed: false, logarithmic: false, whole: false };

export function useCurveOptions(experiment: ExperimentDetail, runs: RunView[]) {
  const [choices, setChoices] = useState(DEFAULTS);
  const isProgram = experiment.spec.base.kind === "program";
  const reported = new Set(runs.flatMap((run) => Object.keys(run.latest)));
  const best = isProgram ? keySeries(reported, reported.size) : [];
  const first = best[0] ?? HELDOUT_ACCURACY;
  const known = chartSeries(isProgram ? reported : [HELDOUT_ACCURACY, ...reported]);
  const rank = ({ name }: SeriesKind) => (best.includes(name) ? best.indexOf(name) : best.length);
  const kinds = isProgram ? known.toSorted((one, other) => rank(one) - rank(other)) : known;
  const options: CurveOptions = { ...choices, kind: seriesKind(choices.name ?? first) };
  const onChange = (change: Partial<Choices>) => {
    setChoices((before) => ({ ...before, ...change }));
  };
  return { kinds, options, onChange, hasEpochs: !isProgram };
}
