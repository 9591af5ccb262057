/** The charts of a run's series, with a common crosshair. */
import { useMemo, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import { errorText } from "@/shared/messages/errorText";
import { Loading } from "@/shared/messages/Loading";
import { classNames } from "@/shared/page/classNames";
import {
  BATCH,
  chartSeries,
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
import type { Points, Series } from "../api/usePoints";
import styles from "./RunCurves.module.css";
import { SeriesChart } from "./SeriesChart";

const STANDARD = new Set([
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
  points: Points;
}

export function RunCurves({ run, points }: Props) {
  const { series } = points;
  const [logarithmic, setLogarithmic] = useState(false);
  const [smoothed, setSmoothed] = useState(true);
  const sync = `run-${run.id}`;
  const xMax = run.step;
  const restarts = run.restarts.map((restart) => restart.step);
  const own = useMemo(() => ownSeries(series), [series]);
  if (!Object.values(series).some((column) => column.steps.length)) {
    return run.points_removed_at ? null : <NoCurves {...points} />; // the history names the removal
  }
  return (
    <section className={styles.charts} aria-label="Curves">
      <SeriesChart title="Loss" names={LOSSES} {...{ series, sync, xMax, restarts, smoothed, logarithmic }}>
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
        {...{ series, sync, xMax, restarts, smoothed }}
      />
      <SeriesChart title="Learning rate" names={RATES} {...{ series, sync, xMax, restarts }} />
      <SeriesChart title="Samples/s" names={SPEEDS} {...{ series, sync, xMax, restarts, smoothed }} />
      {new Set(series[BATCH]?.values).size > 1 && (
        <SeriesChart title="Batch" names={BATCHES} {...{ series, sync, xMax, restarts }} />
      )}
      {own.map(({ kind, names }) => (
        <SeriesChart key={kind.name} title={kind.title} names={names} {...{ series, sync, xMax, restarts }} />
      ))}
    </section>
  );
}

function NoCurves({ isPending, error }: Points) {
  if (isPending) return <Loading />;
  return (
    <p className={classNames("muted", styles.noCurves)}>
      {error
        ? `The curves cannot be shown: ${errorText(error)}.`
        : "The run has not reported any values yet. The curves start with its first step."}
    </p>
  );
}

/** Return the series that only the user's own script reports. */
function ownSeries(series: Series) {
  const kinds = chartSeries(Object.keys(series)).filter((kind) => !STANDARD.has(kind.name));
  return kinds.map((kind) => ({ kind, names: [kind.name] }));
}
