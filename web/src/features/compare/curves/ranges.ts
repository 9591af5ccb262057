/** The ranges of a picture's axes: y without what is far out, and the zoomed range of x. */
import { useEffect, useRef, useState } from "react";
import { type Axis, type Extent, extentOf, padded } from "@/shared/frame/axis";
import { resultRange, robustRange } from "@/shared/plot/yRange";
import { moved, type Range, rounded, scaled } from "@/shared/plot/zoom";
import type { DrawnLine } from "./lines";
import type { Points } from "./means";
import type { CurveOptions } from "./options";

export interface CurveRange extends Extent {
  cut: number; // curves that leave the picture
}

/** Return the range; `ceiling` is the greatest value that the metric can have. */
export function rangeOf(
  lines: readonly DrawnLine[],
  { yLog, isWhole, zoom = null }: Pick<CurveOptions, "yLog" | "isWhole"> & { zoom?: Extent | null },
  ceiling?: number,
): CurveRange {
  const ys = lines.map(({ points, raw }) => within(raw ?? points, zoom));
  const whole = wholeRange(lines, ys, yLog, zoom);
  if (yLog) return { ...padded(whole, true), cut: 0 };
  const near = isWhole ? null : ceiling === 1 ? resultRange(ys) : robustRange(ys);
  const { low, high } = padded(near ?? whole, false);
  const top = ceiling === undefined ? high : Math.min(high, Math.max(ceiling, whole.high));
  return { low, high: top, cut: near?.cut ?? 0 };
}

/** Return the values at the zoomed places. */
function within({ x, y }: Points, zoom: Extent | null): (number | null)[] {
  if (!zoom) return [...y];
  return y.filter((_, index) => (x[index] ?? 0) >= zoom.low && (x[index] ?? 0) <= zoom.high);
}

/** Return the range of all values; bands may reach below 0, which a logarithmic axis does not have. */
function wholeRange(
  lines: readonly DrawnLine[],
  ys: (number | null)[][],
  yLog: boolean,
  zoom: Extent | null,
): Extent {
  if (yLog) return extentOf(ys.flat(), true) ?? { low: 0.1, high: 1 };
  const bands = lines.flatMap(({ band }) =>
    band ? [...within({ ...band, y: band.low }, zoom), ...within({ ...band, y: band.high }, zoom)] : [],
  );
  return extentOf([...ys.flat(), ...bands]) ?? { low: 0, high: 1 };
}

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

const RESTED_MS = 150; // browsers refuse more than about a hundred changes of an address in half a minute

/**
 * The zoomed range while the pointer moves it: the picture follows at once, the address once the pointer rests.
 *
 * Return the shown range, null for all of it, and the function that moves it.
 */
export function useMoves(
  zoom: Extent | null,
  onZoom: (range: Extent | null) => void,
): [Extent | null, (range: Extent | null) => void] {
  const [moving, setMoving] = useState<Extent | null | undefined>(undefined); // undefined: the pointer rests
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
  const move = (range: Extent | null) => {
    setMoving(range);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoving(undefined);
      onZoom(range);
    }, RESTED_MS);
  };
  return [moving === undefined ? zoom : moving, move];
}
