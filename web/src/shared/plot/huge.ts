/** Charts of values beyond the arithmetic of uPlot: it has ticks up to 1e32, and its sums may be infinite. */
import uPlot from "uplot";
import { logTicks } from "@/shared/frame/axis";
import type { Values } from "@/shared/curves/column";
import { bounded } from "./bounds";
import { roundTicks } from "./scales";

const LIMIT = 1e30;
const MULTIPLES = [1, 2, 5];
const POWERS = 308; // of ten, below the largest number
const MOST_POWER = 1023; // of two
const known = new WeakMap<readonly Values[], boolean>();

/** Return whether one of the values is huge. */
export function isHuge(ys: readonly Values[]): boolean {
  const found =
    known.get(ys) ??
    ys.some((column) => column.some((value) => typeof value === "number" && Math.abs(value) > LIMIT));
  known.set(ys, found);
  return found;
}

/** Return uPlot's range with its margins; of huge values their power of two is set apart first. */
export function paddedRange(from: number, to: number, margins: uPlot.Range.Config): [number, number] {
  const size = Math.max(Math.abs(from), Math.abs(to));
  const power = size > LIMIT ? Math.min(MOST_POWER, Math.floor(Math.log2(size))) : 0;
  const [low, high] = uPlot.rangeNum(from / 2 ** power, to / 2 ** power, margins);
  return bounded((low ?? 0) * 2 ** power, (high ?? 1) * 2 ** power);
}

/** Return the parts of an axis of y that uPlot lacks for huge values, `space` pixels between two ticks. */
export function hugeTicks(isLog: boolean, space: number): Partial<uPlot.Axis> {
  const incrs = Array.from({ length: POWERS }, (_, power) => MULTIPLES.map((by) => Number(`${by}e${power}`)));
  return {
    incrs: incrs.flat(),
    filter: (_, splits) => splits,
    splits: (plot, _, low, high) => {
      const count = Math.max(2, Math.floor(plot.height / space));
      return isLog ? logTicks(low, high, count) : roundTicks(low, high, count);
    },
  };
}
