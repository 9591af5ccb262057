/** The bounds of a range that is drawn. */

/** Return a range of numbers whose difference is a number, too. */
export function bounded(low: number, high: number): [number, number] {
  const [from, to] = [Math.max(low, -Number.MAX_VALUE), Math.min(high, Number.MAX_VALUE)];
  return Number.isFinite(to - from)
    ? [from, to]
    : [Math.max(from, -Number.MAX_VALUE / 2), Math.min(to, Number.MAX_VALUE / 2)];
}
