/** The advice on the checkpoint interval: the best interval with its figures, or why there is none yet. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Advice } from "@/shared/api/types";
import { formatPercent, pluralize } from "@/shared/format/number";
import { formatDuration, formatStepTime } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import styles from "./CheckpointAdvice.module.css";

interface Props {
  experimentId: number;
  world?: number; // show only the advice for runs with this number of ranks
}

export function CheckpointAdvice({ experimentId, world }: Props) {
  const { data } = useCheckpointAdvice(experimentId);
  const shown = (data ?? []).filter(
    (advice) =>
      (advice.saves || advice.interruptions || advice.paused) && advice.world === (world ?? advice.world),
  );
  if (!shown.length) return null;
  return (
    <section className={classNames("panel small", styles.advice)} aria-label="Checkpoints">
      <h2>Checkpoints</h2>
      {shown.map((advice) => (
        <div key={advice.world}>
          <p className={styles.recommendation}>{recommendationText(advice)}</p>
          <p className="muted">
            {[
              shown.length > 1 && pluralize(advice.world, "rank"),
              savesText(advice),
              interruptionsText(advice),
            ]
              .filter(Boolean)
              .join(". ")}
            .
          </p>
        </div>
      ))}
    </section>
  );
}

function recommendationText(advice: Advice): string {
  if (advice.best_s !== null) {
    const best = `Best interval ${formatDuration(advice.best_s)}: saving and repeating steps take ${formatPercent(advice.best_waste, 1)} of the time`;
    if (advice.interval_s === null || advice.waste === null) return best;
    return `${best}; the current interval ${formatDuration(advice.interval_s)} takes ${formatPercent(advice.waste, 1)}`;
  }
  const bound =
    advice.not_below_s === null
      ? ""
      : `; an interval below ${formatDuration(advice.not_below_s)} does not pay`;
  return `No advice yet: ${advice.why ?? ""}${bound}`;
}

function savesText(advice: Advice): string {
  if (advice.cost_s === null || advice.write_s === null) return "No checkpoint was written";
  return `${pluralize(advice.saves, "checkpoint")} written: each stalled training for ${formatStepTime(advice.cost_s)} and was complete after ${formatStepTime(advice.write_s)}`;
}

function interruptionsText(advice: Advice): string {
  const hours = `in ${formatDuration(advice.trained_s)} of training by ${pluralize(advice.runs, "run")}`;
  const times = pluralize(advice.interruptions, "interruption");
  const lost = advice.lost_steps ? `, ${pluralize(advice.lost_steps, "step")} repeated` : "";
  const pauses = advice.paused ? `; ${pluralize(advice.paused, "pause")} without lost steps` : "";
  return `${times} ${hours}${rateText(advice)}${lost}${pauses}`;
}

function rateText({ between_s, between_least_s, between_most_s }: Advice): string {
  if (between_s === null || between_least_s === null || between_most_s === null) return "";
  const interval = `${formatDuration(between_least_s)} to ${formatDuration(between_most_s)}`;
  return `, one every ${formatDuration(between_s)} (95% confidence: ${interval})`;
}

const POLL_MS = 30_000;

/**
 * GET /experiments/{id}/checkpoints: the interruptions of its runs, the cost of checkpoints and the best interval.
 */
function useCheckpointAdvice(experimentId: number) {
  return useQuery({
    queryKey: keys.checkpointAdvice(experimentId),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/checkpoints", { params, signal }));
    },
    refetchInterval: POLL_MS,
  });
}
