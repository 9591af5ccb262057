/** Positions and ticks of a picture's axes, and ranges without values far out. */

export type Position = (value: number) => number;

/** Return the position of a value between `low` and `high`; differences of halves are numbers where others are not. */
export function linearPosition(low: number, high: number, from: number, to: number): Position {
  const width = high / 2 - low / 2 || 0.5;
  const reach = to - from;
  return (value) => {
    const share = (value / 2 - low / 2) / width;
    return Number.isFinite(reach) ? from + share * reach : from * (1 - share) + to * share;
  };
}

/** Return about `count` round numbers from `low` to `high`. */
export function roundTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const parts = Math.max(2, count);
  const raw = Number.isFinite(high - low) ? (high - low) / Math.max(1, count) : high / parts - low / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
  return ticks.filter(Number.isFinite);
}

/** Return the values whose texts do not overlap, `gap` pixels apart: the first, the last, and others between them. */
export function spacedTicks(values: number[], position: Position, gap: number): number[] {
  const last = values.at(-1);
  const shown: number[] = [];
  for (const value of values) {
    const before = shown.at(-1);
    const isApart = before === undefined || Math.abs(position(value) - position(before)) >= gap;
    const isFree = last === undefined || value === last || Math.abs(position(last) - position(value)) >= gap;
    if (isApart && isFree) shown.push(value);
  }
  return shown;
}

export interface Range {
  low: number;
  high: number;
  cut: number; // values beyond the range
}

const FENCE = 3; // interquartile ranges beyond the quartiles: Tukey's "far out"
const FEWEST = 5; // values: among fewer ones none is an outlier

const MOST_STRETCH = 10; // times the range of the others: what is nearer leaves them readable, and may decide

/** Return the range of the values without those so far out that they would flatten all others; and how many are cut. */
export function robustRange(values: number[]): Range {
  const sorted = values.toSorted((a, b) => a - b);
  const [least, most] = [sorted[0] ?? 0, sorted.at(-1) ?? 1];
  if (sorted.length < FEWEST) return { low: least, high: most, cut: 0 };
  const quartile = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const [q1, q3] = [quartile(0.25), quartile(0.75)];
  const reach = FENCE * (q3 - q1);
  if (!reach) return { low: least, high: most, cut: 0 };
  const inside = sorted.filter((value) => value >= q1 - reach && value <= q3 + reach);
  let [low, high] = [inside[0] ?? least, inside.at(-1) ?? most];
  const longest = MOST_STRETCH * (high - low);
  const distance = (value: number) => Math.max(q1 - value, value - q3);
  for (const value of sorted.toSorted((a, b) => distance(a) - distance(b))) {
    const [lower, upper] = [Math.min(low, value), Math.max(high, value)];
    if (upper - lower > longest) break;
    [low, high] = [lower, upper];
  }
  return { low, high, cut: sorted.filter((value) => value < low || value > high).length };
}
