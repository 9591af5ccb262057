/** The metrics of a run: progress, speed, memory and quality. */
import type { ReactNode } from "react";
import type { RunDetail } from "@/shared/api/types";
import { formatCount, formatMemory, formatNumber, formatPercent } from "@/shared/format/number";
import { formatDuration, formatRoughly, secondsBetween } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import {
  BATCH,
  EPOCH,
  HELDOUT_ACCURACY,
  LOSS,
  PEAK_MEMORY_BYTES,
  SAMPLES_PER_S,
} from "@/shared/series/catalog";
import type { Series } from "../api/usePoints";
import styles from "./RunMetrics.module.css";

const RECENT = 50; // steps over which a rate is averaged

interface Props {
  run: RunDetail;
  series: Series;
}

export function RunMetrics({ run, series }: Props) {
  const rate = recentMean(series[SAMPLES_PER_S]?.values ?? []);
  const spec = run.spec.kind === "program" ? null : run.spec;
  const batch = batchOf(run);
  const steps = run.steps ? `of ${formatCount(run.steps)}` : "";
  return (
    <section className={styles.metrics} aria-label="Metrics">
      <StepMeter run={run} />
      <dl>
        <Metric name="Steps" value={formatCount(run.step)} note={steps} />
        {spec && <Epochs run={run} epochs={spec.epochs} />}
        <Metric name="Loss" value={formatNumber(run.latest[LOSS])} />
        {spec && <Accuracy run={run} series={series} />}
        {batch && <Metric name="Samples/s" value={formatNumber(rate)} note={`batch ${formatCount(batch)}`} />}
        <PeakMemory run={run} />
        {run.started_at && <ElapsedTime run={run} from={run.started_at} rate={rate} batch={batch} />}
      </dl>
    </section>
  );
}

function Epochs({ run, epochs }: { run: RunDetail; epochs: number }) {
  return <Metric name="Epochs" value={formatNumber(run.latest[EPOCH] ?? 0, 3)} note={`of ${epochs}`} />;
}

function PeakMemory({ run }: { run: RunDetail }) {
  const memory = run.latest[PEAK_MEMORY_BYTES];
  return memory ? <Metric name="Peak memory" value={formatMemory(memory)} note="per rank" /> : null;
}

/** Return the global batch; null for a program that reports none. */
function batchOf(run: RunDetail): number | null {
  return run.latest[BATCH] ?? (run.spec.kind === "program" ? null : run.spec.batch);
}

function Accuracy({ run, series }: Props) {
  const best = bestOf(series[HELDOUT_ACCURACY]?.values ?? []);
  return (
    <Metric
      name="Held-out accuracy"
      value={formatPercent(run.latest[HELDOUT_ACCURACY])}
      note={best !== null && `best ${formatPercent(best)}`}
    />
  );
}

function StepMeter({ run }: { run: RunDetail }) {
  const share = run.steps ? Math.min(1, run.step / run.steps) : 0; // 0 steps: their number is not known
  return (
    <div
      className={styles.stepMeter}
      data-state={run.state}
      role="progressbar"
      aria-label="steps taken"
      aria-valuenow={Math.floor(share * 100)}
    >
      <i style={{ width: `${share * 100}%` }} />
    </div>
  );
}

interface ElapsedTimeProps {
  run: RunDetail;
  from: string;
  rate: number | null; // samples per second
  batch: number | null; // null: a program, whose batch is not known
}

function ElapsedTime({ run, from, rate, batch }: ElapsedTimeProps) {
  const now = useNow();
  const elapsed_s = secondsBetween(from, run.ended_at ?? now);
  const remaining_s = rate === null || batch === null ? null : ((run.steps - run.step) * batch) / rate;
  return (
    <Metric
      name="Time"
      value={formatDuration(Math.max(0, elapsed_s))}
      note={remainingText(run, remaining_s)}
    />
  );
}

function Metric({ name, value, note }: { name: string; value: string; note?: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {note && <small className="muted">{note}</small>}
      </dd>
    </div>
  );
}

function remainingText(run: RunDetail, remaining_s: number | null): string {
  if (run.state !== "running" || remaining_s === null) return "";
  return `≈ ${formatRoughly(remaining_s)} left`;
}

/** Return the harmonic mean: times add up, rates do not. Return null when there is no value. */
function recentMean(values: (number | null)[]): number | null {
  const recent = values.slice(-RECENT).filter((value) => value !== null && value > 0) as number[];
  return recent.length ? recent.length / recent.reduce((sum, value) => sum + 1 / value, 0) : null;
}

function bestOf(values: (number | null)[]): number | null {
  return values.reduce((best, value) => (value !== null && value > (best ?? -1) ? value : best), null);
}
