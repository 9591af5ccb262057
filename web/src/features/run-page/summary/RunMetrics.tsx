/** The metrics of a run: progress, speed, memory and quality. */
import type { ReactNode } from "react";
import { useNow } from "@/shared/api/clock";
import type { RunDetail } from "@/shared/api/types";
import { meanOf, recentMean } from "@/shared/curves/curve";
import { formatCount, formatMemory, formatNumber, formatShare } from "@/shared/format/number";
import { formatDuration, formatRoughly, secondsBetween } from "@/shared/format/time";
import { ownValue } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import {
  BATCH,
  EPOCH,
  HELDOUT_ACCURACY,
  LOSS,
  PEAK_MEMORY_BYTES,
  SAMPLES_PER_S,
  seriesKind,
} from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";
import { stepShare } from "@/shared/state/state";
import type { Series } from "../series";
import styles from "./RunMetrics.module.css";

const RECENT = 50; // steps whose rate tells how long the others take
const MOST_OWN = 4; // values of a program

interface Props {
  run: RunDetail;
  series: Series;
}

export function RunMetrics({ run, series }: Props) {
  const { spec } = run;
  const rate = meanOf(series.get(SAMPLES_PER_S));
  const steps = run.steps ? `of ${formatCount(run.steps)}` : "";
  return (
    <section className={styles.metrics} aria-label="Metrics">
      <StepMeter run={run} />
      <dl>
        <Metric name="Steps" value={formatCount(run.step)} note={steps} />
        {spec.kind === "engine" ? (
          <EngineValues
            {...{ run, series, rate }}
            epochs={spec.epochs}
            batch={run.latest[BATCH] ?? spec.batch}
          />
        ) : (
          <ProgramValues run={run} />
        )}
        <PeakMemory run={run} />
        <ElapsedTime run={run} rate={recentMean(series.get(SAMPLES_PER_S), RECENT)} />
      </dl>
    </section>
  );
}

/** The newest values of what a run reports that is not the engine's. */
function ProgramValues({ run }: { run: RunDetail }) {
  return keySeries(ownNames(run), MOST_OWN).map((name) => {
    const { title, format } = seriesKind(name);
    return <Metric key={name} name={title} value={format(ownValue(run.latest, name))} />;
  });
}

/** Return the names of what a run reports, without what has a value of its own here. */
function ownNames({ latest }: RunDetail): string[] {
  return Object.keys(latest).filter((name) => name !== PEAK_MEMORY_BYTES);
}

interface EngineProps extends Props {
  epochs: number;
  batch: number;
  rate: number | null;
}

function EngineValues({ run, series, epochs, batch, rate }: EngineProps) {
  return (
    <>
      <Metric name="Epochs" value={formatNumber(run.latest[EPOCH] ?? 0, 3)} note={`of ${epochs}`} />
      <Metric name="Loss" value={formatNumber(run.latest[LOSS])} />
      <Accuracy run={run} series={series} />
      {/* the same as mean(samples_per_s) of a query; the chart's head has the value of the newest step alone */}
      <Metric
        name="Mean samples/s"
        value={formatNumber(rate)}
        note={`all steps, batch ${formatCount(batch)}`}
      />
    </>
  );
}

function PeakMemory({ run }: { run: RunDetail }) {
  const memory = run.latest[PEAK_MEMORY_BYTES];
  return memory ? <Metric name="Peak memory" value={formatMemory(memory)} note="per rank" /> : null;
}

function Accuracy({ run, series }: Props) {
  const best = bestOf(series.get(HELDOUT_ACCURACY)?.envelope.values ?? []);
  return (
    <Metric
      name="Held-out accuracy"
      value={formatShare(run.latest[HELDOUT_ACCURACY])}
      note={best !== null && `best ${formatShare(best)}`}
    />
  );
}

interface ElapsedTimeProps {
  run: RunDetail;
  rate: number | null; // samples per second
}

function ElapsedTime({ run, rate }: ElapsedTimeProps) {
  const now = useNow();
  const elapsed_s = ranFor(run, now);
  if (elapsed_s === null) return null;
  const remaining_s = run.state === "running" ? remainingOf(run, rate, elapsed_s) : null;
  const left = remaining_s === null ? "" : `≈ ${formatRoughly(remaining_s)} left`;
  return <Metric name="Time" value={formatDuration(elapsed_s)} note={left} />;
}

/** Return for how long the attempts of a run ran, so far; null before the first start, or if that is not known. */
function ranFor(run: RunDetail, now: number): number | null {
  const since = run.state === "running" ? run.attempt_started_at : null;
  return since === null ? run.ran_s : (run.ran_s ?? 0) + Math.max(0, secondsBetween(since, now));
}

/** Return the seconds until the last step, by the rate or by the time of the first attempt; null if not known. */
function remainingOf(run: RunDetail, rate: number | null, elapsed_s: number): number | null {
  if (!run.steps || !run.step) return null;
  const batch = run.latest[BATCH] ?? (run.spec.kind === "engine" ? run.spec.batch : null);
  const rest = Math.max(0, run.steps - run.step);
  if (rate !== null && batch !== null) return (rest * batch) / rate;
  return run.attempt === 1 && run.spec.kind === "program" ? (rest * elapsed_s) / run.step : null;
}

function bestOf(values: (number | null)[]): number | null {
  return values.reduce((best, value) => (value !== null && value > (best ?? -1) ? value : best), null);
}

/** The bar with the share of the steps that a run has taken; stripes while the number of its steps is not known. */
function StepMeter({ run }: { run: RunDetail }) {
  const share = stepShare(run);
  const value =
    share === null
      ? { "aria-valuetext": `${formatCount(run.step)} steps of an unknown number` }
      : { "aria-valuenow": Math.floor(share * 100) };
  return (
    <div
      className={styles.stepMeter}
      data-state={run.state}
      role="progressbar"
      aria-label="steps taken"
      {...value}
    >
      <i
        className={classNames(share === null && styles.unknownShare)}
        style={{ width: `${(share ?? 1) * 100}%` }}
      />
    </div>
  );
}

interface MetricProps {
  name: string;
  value: string;
  note?: ReactNode;
}

/** One metric of a run: its name, its value and a short note. */
export function Metric({ name, value, note }: MetricProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {note && <small className="muted">{note}</small>}
      </dd>
    </div>
  );
}
