/** What is known of the series that every run measures; a user's own series get their names as titles. */
import { bytes, count, figure, percent } from "@/shared/format/number";
import { stepTime } from "@/shared/format/time";

export const LOSS = "loss";
export const RATE = "learning_rate";
export const SAMPLES_PER_S = "samples_per_s";
export const COMPUTE_S = "compute_s";
export const UPDATE_S = "update_s";
export const COMMUNICATION_S = "communication_s";
export const INPUT_S = "input_s";
export const IDLE_S = "idle_s";
export const SLOWEST_RANK = "slowest_rank";
export const EPOCH = "epoch";
export const HELDOUT_LOSS = "heldout_loss";
export const HELDOUT_ACCURACY = "heldout_accuracy";
export const BATCH = "batch";
export const TRAINED_S = "trained_s";
export const PEAK_MEMORY_BYTES = "peak_memory_bytes";

export interface SeriesKind {
  name: string;
  title: string;
  format: (value: number | null | undefined) => string;
  ceiling?: number; // no value lies above
  logarithmic?: boolean; // worth a logarithmic axis
  noisy?: boolean; // worth smoothing: one value per step
}

/** In the order in which people ask for them. */
const KNOWN: SeriesKind[] = [
  { name: HELDOUT_ACCURACY, title: "Held-out accuracy", format: percent, ceiling: 1 },
  { name: HELDOUT_LOSS, title: "Held-out loss", format: figure, logarithmic: true },
  { name: LOSS, title: "Training loss", format: figure, logarithmic: true, noisy: true },
  { name: RATE, title: "Learning rate", format: figure, logarithmic: true },
  { name: SAMPLES_PER_S, title: "Samples/s", format: figure, noisy: true },
  { name: COMPUTE_S, title: "Compute", format: stepTime, noisy: true },
  { name: UPDATE_S, title: "Update", format: stepTime, noisy: true },
  { name: COMMUNICATION_S, title: "Communication", format: stepTime, noisy: true },
  { name: INPUT_S, title: "Input", format: stepTime, noisy: true },
  { name: IDLE_S, title: "Idle", format: stepTime, noisy: true },
  { name: BATCH, title: "Batch", format: (value) => (value ? count(value) : "–") },
  { name: PEAK_MEMORY_BYTES, title: "Peak memory", format: bytes },
];

const BY_NAME = new Map(KNOWN.map((kind) => [kind.name, kind]));

export function seriesKind(name: string): SeriesKind {
  const title = name.replaceAll("_", " ");
  return (
    BY_NAME.get(name) ?? {
      name,
      title: title.charAt(0).toUpperCase() + title.slice(1),
      format: figure,
      noisy: true,
    }
  );
}

const CHECKPOINTS = ["checkpoint_stall_s", "checkpoint_write_s", "checkpoint_bytes"]; // told beside the curves
// the x axis in other words, and a number that is a name
const NO_CURVES = [EPOCH, TRAINED_S, SLOWEST_RANK, ...CHECKPOINTS];

/** Those of `names` worth a chart, known ones first. */
export function chartable(names: Iterable<string>): SeriesKind[] {
  const present = new Set(names);
  for (const name of NO_CURVES) present.delete(name);
  const own = [...present].filter((name) => !BY_NAME.has(name)).sort();
  return [...KNOWN.filter((kind) => present.has(kind.name)), ...own.map(seriesKind)];
}
