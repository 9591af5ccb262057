/** The range of y of an overlay: without curves that are far out, unless the reader wants all of it. */
import { resultRange, robustRange } from "@/shared/plot/yRange";
import { type Extent, extentOf, padded } from "@/shared/frame/axis";
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
