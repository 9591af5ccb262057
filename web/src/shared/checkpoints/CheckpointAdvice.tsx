/** How often to save, with the figures that say so, or why it can't be told yet. */
import type { Advice } from "@/shared/api/types";
import { percent, plural } from "@/shared/format/number";
import { duration, stepTime } from "@/shared/format/time";
import "./advice.css";
import { useAdvice } from "./useCheckpointAdvice";

interface Props {
  experimentId: number;
  world?: number; // of one run: what was seen of runs of its size
}

export function CheckpointAdvice({ experimentId, world }: Props) {
  const { data } = useAdvice(experimentId);
  const told = (data ?? []).filter(
    (advice) =>
      (advice.saves || advice.interruptions || advice.paused) && advice.world === (world ?? advice.world),
  );
  if (!told.length) return null;
  return (
    <section className="panel advice small" aria-label="Checkpoints">
      <h2>Checkpoints</h2>
      {told.map((advice) => (
        <div key={advice.world}>
          <p className="advice-word">{wordOf(advice)}</p>
          <p className="muted">
            {[told.length > 1 && plural(advice.world, "rank"), saved(advice), interrupted(advice)]
              .filter(Boolean)
              .join(". ")}
            .
          </p>
        </div>
      ))}
    </section>
  );
}

function wordOf(advice: Advice): string {
  if (advice.best_s !== null) {
    const best = `Best every ${duration(advice.best_s)}: saving and repeating then take ${percent(advice.best_waste, 1)} of the time`;
    if (advice.interval_s === null || advice.waste === null) return best;
    return `${best}; every ${duration(advice.interval_s)}, as it is, ${percent(advice.waste, 1)}`;
  }
  const bound =
    advice.not_below_s === null
      ? ""
      : `; more often than every ${duration(advice.not_below_s)} would not pay`;
  return `No advice yet: ${advice.why ?? ""}${bound}`;
}

function saved(advice: Advice): string {
  if (advice.cost_s === null || advice.write_s === null) return "None was written";
  return `${advice.saves} written: training waited ${stepTime(advice.cost_s)} for each, which was whole after ${stepTime(advice.write_s)}`;
}

function interrupted(advice: Advice): string {
  const hours = `in ${duration(advice.trained_s)} of training by ${plural(advice.runs, "run")}`;
  const times = plural(advice.interruptions, "interruption");
  const undone = advice.lost_steps ? `, ${plural(advice.lost_steps, "step")} taken again` : "";
  const rest = advice.paused ? `; ${plural(advice.paused, "pause")} that undid nothing` : "";
  return `${times} ${hours}${between(advice)}${undone}${rest}`;
}

function between({ between_s, between_least_s, between_most_s }: Advice): string {
  if (between_s === null || between_least_s === null || between_most_s === null) return "";
  return `, one every ${duration(between_s)} (${duration(between_least_s)} to ${duration(between_most_s)}, with 95%)`;
}
