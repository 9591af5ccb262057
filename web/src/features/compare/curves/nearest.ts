/** The point of the lines that is nearest to the pointer. */
import type { Position } from "@/shared/plot/scales";
import type { DrawnLine } from "./lines";

export interface Pointed {
  line: number; // index of the line
  index: number; // of its point
}

const REACH = 60; // pixels
const BEYOND = 8; // pixels before and after a curve at which a pointer still reads its end: it may be a single point

/** Return the nearest point within reach; null if no line is there: a curve is not read where it has ended or not begun. */
export function nearestPoint(
  lines: readonly DrawnLine[],
  [px, py]: readonly [number, number],
  atX: Position,
  atY: Position,
): Pointed | null {
  let [found, least]: [Pointed | null, number] = [null, REACH];
  for (const [line, { points }] of lines.entries()) {
    if (!hasAt(points.x, px, atX)) continue;
    const index = indexAt(points.x, px, atX);
    const value = points.y[index];
    if (value === null || value === undefined) continue;
    const distance = Math.hypot((atX(points.x[index] ?? 0) - px) / 2, atY(value) - py);
    if (distance < least) [found, least] = [{ line, index }, distance];
  }
  return found;
}

/** Return whether a curve has begun and not ended at a position. */
function hasAt(x: readonly number[], px: number, atX: Position): boolean {
  const [first, last] = [x[0], x.at(-1)];
  if (first === undefined || last === undefined) return false;
  return px >= atX(first) - BEYOND && px <= atX(last) + BEYOND;
}

/** Return the index of the x nearest to a position, by halves: x ascends. */
export function indexAt(x: readonly number[], px: number, atX: Position): number {
  let [low, high] = [0, x.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (atX(x[middle] ?? 0) < px) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [atX(x[low - 1] ?? Number.NaN), atX(x[low] ?? Number.NaN)];
  return low > 0 && px - before < after - px ? low - 1 : low;
}

/** Return the point after a key: left and right along the line, up and down to another line at the same x. */
export function movedPoint(lines: readonly DrawnLine[], from: Pointed | null, key: string): Pointed | null {
  const at = from ?? { line: 0, index: lastIndex(lines[0]) };
  const line = lines[at.line];
  if (!line) return null;
  const index = indexAfter(key, at.index, lastIndex(line));
  if (index !== null) return { line: at.line, index };
  const by = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (by === undefined) return from;
  const other = (at.line + by + lines.length) % lines.length;
  const x = line.points.x[at.index] ?? 0;
  return { line: other, index: indexAt(lines[other]?.points.x ?? [], x, (value) => value) };
}

function lastIndex(line: DrawnLine | undefined): number {
  return (line?.points.x.length ?? 1) - 1;
}

/** Return the index after a key that moves along a line; null for another key. */
function indexAfter(key: string, index: number, last: number): number | null {
  const along: Record<string, number> = {
    ...{ ArrowLeft: index - 1, ArrowRight: index + 1, PageDown: index - 25, PageUp: index + 25 },
    ...{ Home: 0, End: last },
  };
  const next = along[key];
  return next === undefined ? null : Math.min(Math.max(next, 0), last);
}
