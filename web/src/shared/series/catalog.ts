/** The catalog of series: title, format and axis of each. A user's own series take their names as titles. */
import type { Values } from "@/shared/curves/column";
import {
  formatCount,
  formatMemory,
  formatNumber,
  formatPercent,
  formatShare,
  formatTick,
  isShare,
} from "@/shared/format/number";
import type { Tick } from "@/shared/format/ticks";
import { formatStepTime } from "@/shared/format/time";
import { baseOf, rankOf, systemOf, type SystemSeries, withoutRanks } from "./names";

export const LOSS = "loss";
export const RATE = "learning_rate";
export const SAMPLES_PER_S = "samples_per_s";
export const COMPUTE_S = "compute_s";
export const UPDATE_S = "update_s";
export const COMMUNICATION_S = "communication_s";
export const INPUT_S = "input_s";
export const IDLE_S = "idle_s";
export const SLOWEST_RANK = "slowest_rank";
// details of a run with K-FAC, which compute and update contain
export const FACTORS_S = "factors_s";
export const INVERSES_S = "inverses_s";
export const PRECONDITION_S = "precondition_s";
export const KFAC_PARTS = [FACTORS_S, INVERSES_S, PRECONDITION_S];
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
  unit?: string; // follows the title where the title does not name it
  tick?: Tick; // a value of the axis; default: a short number
  ceiling?: number; // the maximum of all values
  logarithmic?: boolean; // offer a logarithmic axis
  noisy?: boolean; // offer smoothing: the series has one value per step
}

const percentTick: Tick = (value, distance = 0) => `${formatTick(value * 100, distance * 100)}%`;
const TIME = { unit: "s", tick: formatStepTime };

/** The known series in the order of the page. */
const KNOWN: SeriesKind[] = [
  {
    name: HELDOUT_ACCURACY,
    title: "Held-out accuracy",
    format: formatShare,
    unit: "%",
    tick: percentTick,
    ceiling: 1,
  },
  { name: HELDOUT_LOSS, title: "Held-out loss", format: formatNumber, logarithmic: true },
  { name: "heldout_perplexity", title: "Held-out perplexity", format: formatNumber, logarithmic: true },
  { name: "heldout_bits_per_byte", title: "Held-out bits per byte", format: formatNumber, unit: "bits" },
  { name: LOSS, title: "Training loss", format: formatNumber, logarithmic: true, noisy: true },
  { name: RATE, title: "Learning rate", format: formatNumber, logarithmic: true },
  { name: SAMPLES_PER_S, title: "Samples/s", format: formatNumber, noisy: true },
  { name: COMPUTE_S, title: "Compute", format: formatStepTime, ...TIME, noisy: true },
  { name: UPDATE_S, title: "Update", format: formatStepTime, ...TIME, noisy: true },
  { name: COMMUNICATION_S, title: "Communication", format: formatStepTime, ...TIME, noisy: true },
  { name: INPUT_S, title: "Input", format: formatStepTime, ...TIME, noisy: true },
  { name: IDLE_S, title: "Idle", format: formatStepTime, ...TIME, noisy: true },
  { name: FACTORS_S, title: "K-FAC: factors", format: formatStepTime, ...TIME, noisy: true },
  { name: INVERSES_S, title: "K-FAC: inverses", format: formatStepTime, ...TIME, noisy: true },
  { name: PRECONDITION_S, title: "K-FAC: products", format: formatStepTime, ...TIME, noisy: true },
  { name: BATCH, title: "Batch", unit: "samples", format: (value) => (value ? formatCount(value) : "–") },
  { name: PEAK_MEMORY_BYTES, title: "Peak memory", format: formatMemory, unit: "bytes", tick: formatMemory },
];

const BY_NAME = new Map(KNOWN.map((kind) => [kind.name, kind]));

export function seriesKind(name: string): SeriesKind {
  const system = systemOf(name);
  if (system) return systemKind(system);
  const kind = BY_NAME.get(baseOf(name)) ?? ownKind(baseOf(name));
  const rank = rankOf(name);
  return rank === null ? kind : { ...kind, name, title: `${kind.title}, rank ${rank}` };
}

/** Return the title of a series within a sentence: "held-out loss"; a name of the user's stays as it is. */
export function titleInText({ name, title }: Pick<SeriesKind, "name" | "title">): string {
  return BY_NAME.has(baseOf(name))
    ? title.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
    : title;
}

/** The kind of a node's series: its title is the node, with the device. */
function systemKind({ name, host, device, metric }: SystemSeries): SeriesKind {
  const title = device ? `${host} ${device}` : host;
  if (metric === "cpu" || metric === "busy")
    return { name, title, format: (share) => formatPercent(share, 1), tick: percentTick, ceiling: 1 };
  if (metric.endsWith("bytes")) return { name, title, format: formatMemory, tick: formatMemory };
  if (metric.endsWith("bytes_per_s")) {
    const format = (rate: number | null | undefined) =>
      isKnown(rate) ? `${formatNumber(rate, 3)}B/s` : formatNumber(rate);
    return { name, title, format };
  }
  return { name, title, format: formatNumber };
}

function isKnown(value: number | null | undefined): value is number {
  return value !== null && value !== undefined;
}

/** Return the kind of a series that only the user's own script reports: its name is its title. */
function ownKind(name: string): SeriesKind {
  return { name, title: name, format: formatNumber, logarithmic: true, noisy: true };
}

/** Return whether a series is one that the engine reports, with a title and a format of its own. */
export function isOfEngine(name: string): boolean {
  return BY_NAME.has(baseOf(name));
}

/** Return "Compute, s". */
export function titleWithUnit({ title, unit }: SeriesKind): string {
  return unit ? `${title}, ${unit}` : title;
}

/** Return the kind that suits all values of a series: "accuracies" of 90 to 95 are plain numbers, and no shares. */
export function kindOfValues(kind: SeriesKind, columns: readonly Values[]): SeriesKind {
  const isNoShare = (value: Values[number]) => typeof value === "number" && !isShare(value);
  if (kind.ceiling !== 1 || !columns.some((values) => values.some(isNoShare))) return kind;
  const { name, title } = kind;
  return { name, title, format: formatNumber };
}

// the checkpoint advice shows these
export const CHECKPOINT_SERIES = ["checkpoint_stall_s", "checkpoint_write_s", "checkpoint_bytes"];
// series of the engine that are no curves: an x axis, a total, and the number of a rank
const NO_CURVES = new Set([EPOCH, TRAINED_S, SLOWEST_RANK, ...CHECKPOINT_SERIES]);

/** Return whether a series has a chart; of a program each one has, whatever the engine means by its name. */
export function hasCurve(name: string, isEngine: boolean): boolean {
  return !(isEngine && NO_CURVES.has(name)) && !systemOf(name);
}

/** Return the series of `names` that have a chart, known ones first, and one for all ranks of a series. */
export function chartSeries(names: Iterable<string>, isEngine: boolean): SeriesKind[] {
  const present = new Set(withoutRanks(names).filter((name) => hasCurve(name, isEngine)));
  const own = [...present].filter((name) => !BY_NAME.has(name)).sort();
  return [...KNOWN.filter((kind) => present.has(kind.name)), ...own.map(seriesKind)];
}

export const PARTS = [
  { name: COMPUTE_S, title: "Compute", color: { light: "#5b72d0", dark: "#7487e6" } },
  { name: UPDATE_S, title: "Update", color: { light: "#8a5fb5", dark: "#a57fd0" } },
  { name: COMMUNICATION_S, title: "Communication", color: { light: "#c97524", dark: "#e0924a" } },
  { name: INPUT_S, title: "Input", color: { light: "#5d9683", dark: "#5f9d8c" } },
  { name: IDLE_S, title: "Idle", color: { light: "#a3a3ad", dark: "#75757f" } },
] as const;

/** The cost of K-FAC, which the engine counts in compute and in update; the page of a run shows it apart. */
export const KFAC_PART = {
  name: "kfac_s",
  title: "K-FAC",
  color: { light: "#b5527c", dark: "#d0789e" },
} as const;

export type Part = (typeof PARTS)[number] | typeof KFAC_PART;
