/** Quartiles and whiskers of a box plot. */

export interface BoxFigures {
  q1: number;
  median: number;
  q3: number;
  low: number; // the least value that is no outlier
  high: number;
  count: number;
}

const REACH = 1.5; // interquartile ranges from the box to the end of a whisker (Tukey)

/** Return the quantile of sorted values at a share, on the line between two values (type 7 of Hyndman and Fan). */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN];
  return below + (above - below) * (at - Math.floor(at));
}

/** Return the figures of the values; null without any. */
export function boxOfValues(values: readonly number[]): BoxFigures | null {
  if (!values.length) return null;
  const sorted = values.toSorted((one, other) => one - other);
  const [q1, median, q3] = [quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)];
  const reach = REACH * (q3 - q1);
  const inside = sorted.filter((value) => value >= q1 - reach && value <= q3 + reach);
  return { q1, median, q3, low: inside[0] ?? q1, high: inside.at(-1) ?? q3, count: sorted.length };
}
