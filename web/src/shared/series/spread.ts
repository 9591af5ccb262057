/** Number, mean, deviation, least and most of a figure over the runs of a group. */
import { MISSING } from "@/shared/format/number";

export interface Spread {
  count: number;
  mean: number;
  deviation: number | null; // of the sample; null for one value
  least: number;
  most: number;
}

/** Return the spread of the values that are numbers; null without any. */
export function spreadOf(values: readonly (number | null | undefined)[]): Spread | null {
  const found = values.filter((value) => typeof value === "number");
  if (!found.length) return null;
  const mean = found.reduce((sum, value) => sum + value, 0) / found.length;
  const squares = found.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {
    count: found.length,
    mean,
    deviation: found.length > 1 ? Math.sqrt(squares / (found.length - 1)) : null,
    least: Math.min(...found),
    most: Math.max(...found),
  };
}

/** Return the mean with the deviation behind it, as far as there is one. */
export function spreadText(spread: Spread | null, format: (value: number) => string): string {
  if (!spread) return MISSING;
  return format(spread.mean) + (spread.deviation === null ? "" : ` ± ${format(spread.deviation)}`);
}
