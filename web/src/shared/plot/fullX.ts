/** The full range of x of a chart. */
import type { View } from "./view";

/**
 * Return the full range of x; charts of one page agree on it, although their series have different steps. It begins
 * at 0, or with the first step where the steps before it would take more than half of the picture.
 */
export function fullX({
  xMin,
  xMax,
  aligned: { x },
}: Pick<View, "xMin" | "xMax" | "aligned">): [number, number] {
  const [first, last] = [x[0] ?? 0, Math.max(xMax ?? 0, x.at(-1) ?? 0)];
  const start = startOfX(Math.min(xMin ?? first, first), last);
  return [start, last > start ? last : start + 1];
}

/** Return where an axis of x begins whose data reach from `first` to `last`. */
export function startOfX(first: number, last: number): number {
  return first <= 0 || first > last - first ? (first < last ? first : Math.min(first, 0)) : 0;
}
