/** The zoom of a picture's x axis: a range that the pointer draws and moves, and keys as well. */
import type { Axis, Extent } from "@/shared/frame/axis";
import { moved, type Range, rounded, scaled } from "@/shared/plot/zoom";

const LEAST_PX = 8; // a shorter drag is a click

/** Return the range of x between two positions in pixels, rounded to a thousandth of it; null for a click. */
export function rangeBetween(axis: Axis, from: number, to: number): Extent | null {
  if (Math.abs(to - from) < LEAST_PX) return null;
  const [low, high] = [axis.of(Math.min(from, to)), axis.of(Math.max(from, to))];
  return extentFrom(Math.max(low, axis.low), Math.min(high, axis.high));
}

/** What a picture shows of its x axis. */
export interface Shown extends Extent {
  full: Extent; // without a zoom
  isLog: boolean;
}

const MOVES: Record<string, number> = { ArrowLeft: -0.25, ArrowRight: 0.25 }; // with Shift, of the range's width
const FACTORS: Record<string, number> = { "+": 0.5, "=": 0.5, "-": 2 };

/** Return the range after a key: Shift and an arrow move it, + and - make it narrower and wider; undefined: another key. */
export function rangeAfter(
  { key, shiftKey }: { key: string; shiftKey: boolean },
  shown: Shown,
  chosen: number | null,
): Extent | null | undefined {
  const [share, factor] = [shiftKey ? MOVES[key] : undefined, FACTORS[key]];
  if (share !== undefined) return rangeMoved(shown, share);
  if (factor === undefined) return undefined;
  return changed(shown, (range, full) => {
    const middle = (range[0] + range[1]) / 2;
    const center = chosen === null ? middle : placeOf(chosen, shown.isLog);
    return scaled(range, full, factor, Number.isFinite(center) ? center : middle);
  });
}

/** Return the range moved by a share of its width; null if it is all of the axis. */
export function rangeMoved(shown: Shown, share: number): Extent | null {
  return changed(shown, (range, full) => moved(range, full, share));
}

/** Change the range in the places of the axis, which are logarithms on a logarithmic one. */
function changed(
  { low, high, full, isLog }: Shown,
  change: (range: Range, full: Range) => Range,
): Extent | null {
  const all: Range = [placeOf(full.low, isLog), placeOf(full.high, isLog)];
  const [from, to] = change([placeOf(low, isLog), placeOf(high, isLog)], all);
  if (from <= all[0] && to >= all[1]) return null;
  return isLog ? extentFrom(Math.exp(from), Math.exp(to)) : extentFrom(from, to);
}

function placeOf(value: number, isLog: boolean): number {
  return isLog ? Math.log(value) : value;
}

function extentFrom(low: number, high: number): Extent | null {
  const [from, to] = rounded([low, high]);
  return from < to ? { low: from, high: to } : null;
}
