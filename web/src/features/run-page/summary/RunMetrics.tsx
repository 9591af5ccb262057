/** The run in figures: how far, how fast, how good. */
import type { ReactNode } from "react";
import type { RunDetail } from "@/shared/api/types";
import { bytes, count, figure, percent } from "@/shared/format/number";
import { duration, roughly, secondsBetween } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import {
  BATCH,
  EPOCH,
  HELDOUT_ACCURACY,
  LOSS,
  PEAK_MEMORY_BYTES,
  SAMPLES_PER_S,
} from "@/shared/series/catalog";
import type { Series } from "@/features/run-page/api/usePoints";

const RECENT = 50; // steps over which a rate is averaged

interface Props {
  run: RunDetail;
  series: Series;
}

export function Figures({ run, series }: Props) {
  const now = useNow();
  const rate = recentMean(series[SAMPLES_PER_S]?.values ?? []);
  const batch = run.latest[BATCH] ?? run.spec.batch;
  const share = run.step / run.steps;
  const memory = run.latest[PEAK_MEMORY_BYTES];
  const best = Math.max(-1, ...(series[HELDOUT_ACCURACY]?.values ?? []).map((value) => value ?? -1));
  const elapsed_s = run.started_at ? secondsBetween(run.started_at, run.ended_at ?? now) : null;
  const left_s = rate === null ? null : ((run.steps - run.step) * batch) / rate;
  return (
    <section className="figures" aria-label="Figures">
      <div
        className="run-meter"
        data-state={run.state}
        role="progressbar"
        aria-label="steps taken"
        aria-valuenow={Math.floor(share * 100)}
      >
        <i style={{ width: `${share * 100}%` }} />
      </div>
      <dl>
        <Figure name="Steps" value={count(run.step)} note={`of ${count(run.steps)}`} />
        <Figure name="Epochs" value={figure(run.latest[EPOCH] ?? 0, 3)} note={`of ${run.spec.epochs}`} />
        <Figure name="Loss" value={figure(run.latest[LOSS])} />
        <Figure
          name="Held-out accuracy"
          value={percent(run.latest[HELDOUT_ACCURACY])}
          note={best >= 0 && `best ${percent(best)}`}
        />
        <Figure name="Samples/s" value={figure(rate)} note={`batch ${count(batch)}`} />
        {memory ? <Figure name="Peak memory" value={bytes(memory)} note="of a rank" /> : null}
        {elapsed_s !== null && (
          <Figure name="Time" value={duration(Math.max(0, elapsed_s))} note={leftText(run, left_s)} />
        )}
      </dl>
    </section>
  );
}

function Figure({ name, value, note }: { name: string; value: string; note?: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {note && <small className="muted">{note}</small>}
      </dd>
    </div>
  );
}

function leftText(run: RunDetail, left_s: number | null): string {
  if (run.state !== "running" || left_s === null) return "";
  return `≈ ${roughly(left_s)} left`;
}

/** Harmonic, since a rate's inverse is what adds up; null without any value. */
function recentMean(values: (number | null)[]): number | null {
  const recent = values.slice(-RECENT).filter((value) => value !== null && value > 0) as number[];
  return recent.length ? recent.length / recent.reduce((sum, value) => sum + 1 / value, 0) : null;
}
