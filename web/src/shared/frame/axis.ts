/** An axis of a picture: positions and ticks, linear or logarithmic. */
import { bounded, isFlat } from "@/shared/plot/yRange";
import { linearPosition, type Position, roundTicks } from "@/shared/plot/scales";

export interface Axis {
  low: number;
  high: number;
  at: Position; // in pixels; NaN for a value that a logarithmic axis does not have
  of: Position; // the value at a position in pixels
  ticks: number[];
}

export interface Extent {
  low: number;
  high: number;
}

/** Return the least and the greatest of the values; on a logarithmic axis of those above 0. Null without any. */
export function extentOf(values: Iterable<number | null | undefined>, isLog = false): Extent | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (typeof value !== "number" || !Number.isFinite(value) || (isLog && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? null : { low, high };
}

/** Return the extent with a margin on both sides. */
export function padded({ low, high }: Extent, isLog: boolean, share = 0.05): Extent {
  if (isLog) {
    const ratio = high / low;
    const wide = Number.isFinite(ratio) ? ratio ** share : high ** share / low ** share;
    const factor = isFlat(low, high) ? 2 : wide;
    return extent(Math.max(low / factor, Number.MIN_VALUE), high * factor);
  }
  const margin = isFlat(low, high) ? (Math.abs(high) || 1) * share : high * share - low * share;
  return extent(low - margin, high + margin);
}

function extent(from: number, to: number): Extent {
  const [low, high] = bounded(from, to);
  return { low, high };
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

/** Return the unit in which times up to `high` seconds have round ticks. */
export function timeUnit(high: number): number {
  return [DAY, HOUR, MINUTE].find((unit) => high >= 2 * unit) ?? 1;
}

/** Return the axis from `from` to `to` pixels with about `count` ticks, which are round numbers of `unit`. */
export function axisOf(
  { low, high }: Extent,
  isLog: boolean,
  from: number,
  to: number,
  { count, unit = 1, isWhole = false }: { count: number; unit?: number; isWhole?: boolean },
): Axis {
  if (!isLog) {
    const ticks = roundTicks(low / unit, high / unit, count, isWhole).map((tick) => tick * unit);
    const [at, of] = [linearPosition(low, high, from, to), linearPosition(from, to, low, high)];
    return { low, high, at, of, ticks };
  }
  const linear = linearPosition(Math.log(low), Math.log(high), from, to);
  const inverse = linearPosition(from, to, Math.log(low), Math.log(high));
  return {
    low,
    high,
    at: (value) => (value > 0 ? linear(Math.log(value)) : Number.NaN),
    of: (place) => Math.exp(inverse(place)),
    ticks: logTicks(low, high, count),
  };
}

/** Return powers of ten; over few of them also 2 and 5 times as much; over less than one, round numbers. */
export function logTicks(low: number, high: number, count: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  const within = (values: number[]) => values.filter((value) => value >= low && value <= high);
  const fine = within(
    powers.flatMap((power) => [1, 2, 5].map((factor) => Number((power * factor).toPrecision(3)))),
  );
  if (fine.length < 2) return roundTicks(low, high, count);
  if (fine.length <= count + 2) return fine;
  const coarse = within(powers);
  const every = Math.ceil(coarse.length / Math.max(2, count));
  return coarse.filter((_, index) => index % every === 0);
}
