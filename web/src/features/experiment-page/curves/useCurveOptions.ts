/** The reader's choices for the overlaid curves, which the address of the page holds: a link shows the same picture. */
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { changeAxis } from "@/shared/curves/view";
import { readAxis, type XAxis } from "@/shared/curves/xAxis";
import { changeAddress, useAddress } from "@/shared/page/address";
import { chartSeries, HELDOUT_ACCURACY, LOSS, seriesKind, type SeriesKind } from "@/shared/series/catalog";
import { keySeries, withFirst } from "@/shared/series/keySeries";
import { hasEnded } from "@/shared/state/state";
import { kindOf } from "../kind";

/** The choices of the reader. */
export interface Choices {
  name: string | null; // of the series; null: the first one
  axis: XAxis;
  smoothed: boolean;
  logarithmic: boolean;
  whole: boolean; // the whole range of y, with curves that are far out
}

export type CurveOptions = Choices & { kind: SeriesKind };

export function useCurveOptions(experiment: ExperimentDetail, runs: RunView[]) {
  const address = useAddress();
  const hasOwnMetrics = kindOf(experiment) !== "engine";
  const reported = new Set(runs.flatMap((run) => Object.keys(run.latest)));
  const ranked = hasOwnMetrics ? keySeries(reported, reported.size) : [];
  const best = withFirst(experiment.objective?.metric, ranked);
  // a live run may report its first accuracy later, and the chart must not change meanwhile
  const hasNone = hasEnded(experiment.state) && reported.has(LOSS) && !reported.has(HELDOUT_ACCURACY);
  const first = best[0] ?? (hasNone ? LOSS : HELDOUT_ACCURACY);
  const known = chartSeries(hasOwnMetrics ? reported : [HELDOUT_ACCURACY, ...reported], !hasOwnMetrics);
  const rank = ({ name }: SeriesKind) => (best.includes(name) ? best.indexOf(name) : best.length);
  const kinds = hasOwnMetrics ? known.toSorted((one, other) => rank(one) - rank(other)) : known;
  const choices = choicesOf(address);
  const options: CurveOptions = { ...choices, kind: seriesKind(choices.name ?? first) };
  return { kinds, options, onChange, reported };
}

function choicesOf(address: URLSearchParams): Choices {
  return {
    name: address.get("series"),
    axis: readAxis(address.get("x")),
    smoothed: address.get("smooth") === "on",
    logarithmic: address.get("log") === "on",
    whole: address.get("range") === "whole",
  };
}

const SWITCHES = {
  smoothed: ["smooth", "on"],
  logarithmic: ["log", "on"],
  whole: ["range", "whole"],
} as const;

/** Another series or x axis is another view, to which the back button returns; a switch changes this one. */
function onChange(change: Partial<Choices>): void {
  if (change.name !== undefined) changeAddress({ series: change.name ?? "" }, true);
  if (change.axis !== undefined) changeAxis(change.axis);
  for (const name of ["smoothed", "logarithmic", "whole"] as const) {
    const [parameter, value] = SWITCHES[name];
    if (change[name] !== undefined) changeAddress({ [parameter]: change[name] ? value : "" });
  }
}
