/** Number, mean, deviation, least and most of a figure over the runs of a group. */

export interface Spread {
  count: number;
  mean: number;
  deviation: number | null; // of the sample; null for one value
  least: number;
  most: number;
}

/** Return the spread of the values that are numbers; null without any. */
export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const found = values.filter((value) => value !== null);
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
