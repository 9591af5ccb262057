/** The most useful series of a run: what tables and summaries show of a program, which may report any names. */
import {
  BATCH,
  CHECKPOINT_SERIES,
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
  SLOWEST_RANK,
  TRAINED_S,
  UPDATE_S,
} from "./catalog";
import { withoutRanks } from "./names";

const BEST = [LOSS, HELDOUT_ACCURACY, HELDOUT_LOSS];
const QUALITY = /loss|acc|error|score|perplexity|reward|return|bleu|auc|f1/i;
const SPEEDS = [SAMPLES_PER_S, BATCH, RATE];
// the details of a training; of a program that reports nothing else they are what it reports
const DETAILS = new Set([
  ...[COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S, SLOWEST_RANK],
  ...[EPOCH, TRAINED_S, PEAK_MEMORY_BYTES, ...CHECKPOINT_SERIES],
]);

/** Return at most `count` of the names: known ones first, then measures of quality, then the others as reported, details last. */
export function keySeries(names: Iterable<string>, count: number): string[] {
  const present = withoutRanks(names);
  const rank = (name: string) => {
    if (BEST.includes(name)) return BEST.indexOf(name);
    if (SPEEDS.includes(name)) return BEST.length + 2;
    if (DETAILS.has(name)) return BEST.length + 3;
    return BEST.length + (QUALITY.test(name) ? 0 : 1);
  };
  return present.toSorted((one, other) => rank(one) - rank(other)).slice(0, count);
}

/** Return the names with `name` before the others, if it is one of them. */
export function withFirst(name: string | undefined, names: string[]): string[] {
  return name !== undefined && names.includes(name) ? [name, ...names.filter((one) => one !== name)] : names;
}
