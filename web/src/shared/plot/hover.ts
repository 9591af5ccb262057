/** Which point of a curve the pointer reads: one of a curve that has ended or not begun there is none. */
import type uPlot from "uplot";

type Values = uPlot.AlignedData[number];

const ends = new WeakMap<Values, [first: number, last: number]>();

/** Return the index of a curve's point nearest to `index`; null before its first and after its last point. */
export function nearestIndex(values: Values, index: number): number | null {
  const [first, last] = endsOf(values);
  if (index < first || index > last) return null;
  // between its ends a curve has points on both sides
  let [left, right] = [index, index];
  while (values[left] === undefined) left -= 1;
  while (values[right] === undefined) right += 1;
  return index - left <= right - index ? left : right;
}

/** Return the indices of the first and the last point; once for each column, since a pointer moves often. */
function endsOf(values: Values): [number, number] {
  const known = ends.get(values);
  if (known) return known;
  let [first, last] = [0, values.length - 1];
  while (first <= last && values[first] === undefined) first += 1;
  while (last > first && values[last] === undefined) last -= 1;
  const found: [number, number] = [first, last];
  ends.set(values, found);
  return found;
}
