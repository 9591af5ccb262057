/** A line as what it covers of each column of pixels: quickly drawn, however often it goes up and down. */

/** The least and the greatest y of each column; NaN where the line has none. */
export interface Columns {
  low: Float32Array;
  high: Float32Array;
}

/** Where x and y are on a picture of this many pixels. */
export interface Place {
  width: number;
  height: number;
  toX: (value: number) => number;
  toY: (value: number) => number;
}

interface Point {
  x: number;
  y: number;
}

const GAP: Point = { x: NaN, y: NaN };

/**
 * Return the columns of a line through the values of a range of indices; null if it goes up and down by less than
 * `travel` pixels of the picture in all. `undefined` is no value, `null` is a gap.
 */
export function columnsOf(
  xs: ArrayLike<number>,
  values: ArrayLike<number | null | undefined>,
  [from, to]: readonly [number, number],
  { width, height, toX, toY }: Place,
  travel: number,
): Columns | null {
  if (width <= 0 || height <= 0) return null;
  const empty = () => new Float32Array(width).fill(NaN);
  const found: Columns = { low: empty(), high: empty() };
  let [sum, before] = [0, GAP];
  for (let at = from; at <= to; at += 1) {
    const value = values[at];
    if (value === undefined) continue;
    const point = value === null ? GAP : { x: toX(xs[at] ?? 0), y: toY(value) };
    if (point !== GAP) cover(found, before === GAP ? point : before, point);
    sum += travelled(before, point, height);
    before = point;
  }
  return sum < travel ? null : found;
}

/** Return the pixels of the picture by which a part of a line goes up or down; 0 at a gap. */
function travelled(from: Point, to: Point, height: number): number {
  const inside = (y: number) => Math.min(Math.max(y, 0), height);
  return from === GAP || to === GAP ? 0 : Math.abs(inside(to.y) - inside(from.y));
}

/** Cover the columns of a part of a line, from left to right. */
function cover(found: Columns, { x, y }: Point, { x: newX, y: newY }: Point): void {
  const [first, last] = [Math.floor(x), Math.floor(newX)];
  widen(found, first, y);
  if (last > first) {
    const slope = (newY - y) / (newX - x);
    const end = Math.min(last, found.low.length);
    for (let column = Math.max(first + 1, 0); column <= end; column += 1) {
      const edge = y + slope * (column - x); // where the line enters the column
      widen(found, column - 1, edge);
      widen(found, column, edge);
    }
  }
  widen(found, last, newY);
}

function widen({ low, high }: Columns, column: number, y: number): void {
  if (column < 0 || column >= low.length) return;
  const [least, greatest] = [low[column] ?? NaN, high[column] ?? NaN];
  if (!(least <= y)) low[column] = y;
  if (!(greatest >= y)) high[column] = y;
}
