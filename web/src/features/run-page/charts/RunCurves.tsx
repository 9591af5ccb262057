/** The run's curves, side by side, under one crosshair. */
import { useMemo, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import {
  BATCH,
  chartable,
  COMMUNICATION_S,
  COMPUTE_S,
  EPOCH,
  HELDOUT_ACCURACY,
  HELDOUT_LOSS,
  IDLE_S,
  INPUT_S,
  LOSS,
  PEAK_MEMORY_BYTES,
  RATE,
  SAMPLES_PER_S,
  UPDATE_S,
} from "@/shared/series/catalog";
import type { Series } from "@/features/run-page/api/usePoints";
import { SeriesChart } from "./SeriesChart";

const PLACED = new Set([
  LOSS,
  HELDOUT_LOSS,
  HELDOUT_ACCURACY,
  RATE,
  SAMPLES_PER_S,
  COMPUTE_S,
  UPDATE_S,
  COMMUNICATION_S,
  INPUT_S,
  IDLE_S,
  BATCH,
  PEAK_MEMORY_BYTES,
  EPOCH,
]);

const LOSSES = [LOSS, HELDOUT_LOSS];
const ACCURACIES = [HELDOUT_ACCURACY];
const RATES = [RATE];
const SPEEDS = [SAMPLES_PER_S];
const BATCHES = [BATCH];

interface Props {
  run: RunDetail;
  series: Series;
}

export function Curves({ run, series }: Props) {
  const [logarithmic, setLogarithmic] = useState(false);
  const [smoothed, setSmoothed] = useState(true);
  const sync = `run-${run.id}`;
  const span = run.step;
  const marks = run.restarts.map((restart) => restart.step);
  const own = useMemo(() => ownOf(series), [series]);
  if (!Object.values(series).some((column) => column.steps.length)) {
    return (
      <p className="muted no-curves">Nothing has been measured yet; the curves begin with the first step.</p>
    );
  }
  return (
    <section className="charts" aria-label="Curves">
      <SeriesChart title="Loss" names={LOSSES} {...{ series, sync, span, marks, smoothed, logarithmic }}>
        <Switch on={smoothed} onChange={setSmoothed}>
          smooth
        </Switch>
        <Switch on={logarithmic} onChange={setLogarithmic}>
          log scale
        </Switch>
      </SeriesChart>
      <SeriesChart
        title="Held-out accuracy"
        names={ACCURACIES}
        {...{ series, sync, span, marks, smoothed }}
      />
      <SeriesChart title="Learning rate" names={RATES} {...{ series, sync, span, marks }} />
      <SeriesChart title="Samples/s" names={SPEEDS} {...{ series, sync, span, marks, smoothed }} />
      {new Set(series[BATCH]?.values).size > 1 && (
        <SeriesChart title="Batch" names={BATCHES} {...{ series, sync, span, marks }} />
      )}
      {own.map(({ kind, names }) => (
        <SeriesChart key={kind.name} title={kind.title} names={names} {...{ series, sync, span, marks }} />
      ))}
    </section>
  );
}

/** What the user's own script measures besides. */
function ownOf(series: Series) {
  const kinds = chartable(Object.keys(series)).filter((kind) => !PLACED.has(kind.name));
  return kinds.map((kind) => ({ kind, names: [kind.name] }));
}
