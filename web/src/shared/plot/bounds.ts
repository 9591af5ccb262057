/** The bounds of a range that is drawn. */

const LEAST = 2 ** -46; // of the numbers' size: their last 64 steps, of which fewer make no picture
const MARGIN = 0.08; // of the width, above and below

/** Return a range of numbers whose difference is a number, too. */
export function bounded(low: number, high: number): [number, number] {
  const [from, to] = [Math.max(low, -Number.MAX_VALUE), Math.min(high, Number.MAX_VALUE)];
  return Number.isFinite(to - from)
    ? [from, to]
    : [Math.max(from, -Number.MAX_VALUE / 2), Math.min(to, Number.MAX_VALUE / 2)];
}

/** Return whether a range is too narrow for ticks: its ends are the same number, or nearly. */
export function isFlat(low: number, high: number): boolean {
  return !(high - low > Math.max(Math.abs(low), Math.abs(high)) * LEAST);
}

interface Ends {
  fromZero: boolean; // the range of values above 0 begins at 0
  ceiling?: number | undefined; // the greatest value that there can be
}

/** Return the range with a margin on both sides; values above 0 need none below 0. */
export function paddedRange(low: number, high: number, { fromZero, ceiling }: Ends): [number, number] {
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const margin = isFlat(low, high) ? size : high * MARGIN - low * MARGIN;
  const below = low - margin;
  const from = low >= 0 && (fromZero || below < 0) ? 0 : below;
  const top = high + margin;
  return bounded(from, ceiling === undefined ? top : Math.min(top, Math.max(ceiling, high)));
}
