/** Mean and deviation of several curves at common positions. */
import { extentOf } from "@/shared/frame/axis";

/** A curve by ascending x; null is a gap. */
export interface Points {
  x: readonly number[];
  y: readonly (number | null)[];
}

/** The mean of curves where at least half of them have a value, and one standard deviation around it. */
export interface Band extends Points {
  low: readonly (number | null)[];
  high: readonly (number | null)[];
}

const POSITIONS = 300;

/** Return positions from the least to the greatest x of the curves, evenly spread on the axis. */
export function gridOf(curves: readonly Points[], isLog: boolean, count = POSITIONS): number[] {
  const extent = extentOf(
    curves.flatMap(({ x }) => x),
    isLog,
  );
  if (!extent) return [];
  const { low, high } = extent;
  if (low === high) return [low];
  const [from, to] = isLog ? [Math.log(low), Math.log(high)] : [low, high];
  return Array.from({ length: count }, (_, index) => {
    if (index === 0) return low;
    if (index === count - 1) return high;
    const at = from + ((to - from) * index) / (count - 1);
    return isLog ? Math.exp(at) : at;
  });
}

export function meanAndBand(curves: readonly Points[], grid: readonly number[]): Band {
  const columns = curves.map((curve) => valuesAt(curve, grid));
  const needed = Math.max(1, columns.length / 2);
  const y: (number | null)[] = [];
  const low: (number | null)[] = [];
  const high: (number | null)[] = [];
  for (const index of grid.keys()) {
    const { count, mean, deviation } = momentsOf(columns.map((column) => column[index] ?? null));
    const isShown = count >= needed;
    const hasBand = isShown && count > 1;
    y.push(isShown ? mean : null);
    low.push(hasBand ? mean - deviation : null);
    high.push(hasBand ? mean + deviation : null);
  }
  return { x: grid, y, low, high };
}

/** Return number, mean and deviation (of the sample) of the values that are not null. */
function momentsOf(values: readonly (number | null)[]): { count: number; mean: number; deviation: number } {
  let [count, mean, squares] = [0, 0, 0];
  for (const value of values) {
    if (value === null) continue;
    count += 1;
    const off = value - mean;
    mean += off / count;
    squares += off * (value - mean);
  }
  return { count, mean, deviation: count > 1 ? Math.sqrt(squares / (count - 1)) : 0 };
}

/** Return the curve's values at ascending positions, on the lines between its points; null before and after it. */
export function valuesAt({ x, y }: Points, grid: readonly number[]): (number | null)[] {
  const known = x.flatMap((at, index): Known[] => {
    const value = y[index];
    return typeof value === "number" ? [{ at, value }] : [];
  });
  const [first, last] = [known[0]?.at ?? Infinity, known.at(-1)?.at ?? -Infinity];
  let next = 0;
  return grid.map((at) => {
    if (at < first || at > last) return null;
    while (next < known.length - 1 && (known[next]?.at ?? 0) < at) next += 1;
    return between(known[next - 1], known[next], at);
  });
}

interface Known {
  at: number;
  value: number;
}

/** Return the value on the line between two points, or that of the point itself. */
function between(before: Known | undefined, to: Known | undefined, at: number): number | null {
  if (!to) return null;
  if (!before || to.at <= at || to.at === before.at) return to.value;
  return before.value + ((at - before.at) / (to.at - before.at)) * (to.value - before.value);
}
