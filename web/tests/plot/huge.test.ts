import type uPlot from "uplot";
import { expect, test } from "vitest";
import { smooth } from "@/shared/curves/column";
import { formatTick } from "@/shared/format/number";
import { axisOf, logTicks, padded } from "@/shared/frame/axis";
import { optionsFor } from "@/shared/plot/options";
import { linearPosition, roundTicks } from "@/shared/plot/scales";
import type { View } from "@/shared/plot/view";

const SIZE = { width: 400, height: 200 };
const PLOT = { ...SIZE, height: 170 } as unknown as uPlot;

function viewOf(values: number[], logarithmic = false): View {
  return {
    lines: [],
    aligned: { x: values.map((_, at) => at), ys: [values] },
    tick: formatTick,
    logarithmic,
  };
}

test.each([
  ["float32", [1, 2.306e38], false],
  ["float64", [0.5, 1.7e308], false],
  ["negative", [-1.7e308, -1], false],
  ["both signs", [-1.7e308, 1.7e308], false],
  ["the largest numbers", [-Number.MAX_VALUE, Number.MAX_VALUE], false],
  ["equal", [1.7e308, 1.7e308], false],
  ["logarithmic", [1e-300, 1.7e308], true],
  ["logarithmic and far up", [1.6e308, 1.7e308], true],
] as const)("a chart of huge values has a range and ticks: %s", (_, values, logarithmic) => {
  const view = viewOf([...values], logarithmic);
  const options = optionsFor(view, () => view, SIZE);
  const { range } = options.scales?.y ?? {};
  const { splits, incrs } = options.axes?.[1] ?? {};
  if (typeof range !== "function" || typeof splits !== "function") throw new Error("no range or no ticks");
  const [low = NaN, high = NaN] = range(PLOT, values[0], values[1], "y").map(Number);
  expect(Number.isFinite(high - low)).toBe(true);
  expect(high > low).toBe(true);
  const ticks = splits(PLOT, 1, low, high, 1, 34);
  expect(ticks.length).toBeGreaterThan(0);
  expect(ticks.length).toBeLessThan(20);
  expect(ticks.every((tick) => tick >= low && tick <= high)).toBe(true);
  // uPlot shows an axis only if an increment has room; the decimals of those from 5 on do not count
  if (typeof incrs !== "function") throw new Error("no increments");
  expect(incrs(PLOT, 1, low, high, 170, 34)[0]).toBeGreaterThanOrEqual(Math.max(5, high - low));
});

test("pictures of huge values have places and ticks", () => {
  const most = Number.MAX_VALUE;
  expect(linearPosition(-most, most, 0, 100)(0)).toBe(50);
  expect(linearPosition(0, 100, -most, most)(50)).toBe(0);
  expect(roundTicks(-1.7e308, 1.7e308, 4)).toEqual([-1e308, 0, 1e308]);
  expect(logTicks(1e300, 1.7e308, 4).length).toBeGreaterThan(1);
  for (const isLog of [false, true]) {
    const extent = padded({ low: isLog ? 1e-300 : -1.7e308, high: 1.7e308 }, isLog);
    const axis = axisOf(extent, isLog, 0, 100, { count: 5 });
    expect([axis.low, axis.high, ...axis.ticks].every(Number.isFinite)).toBe(true);
    expect(axis.at(1e300)).toBeGreaterThan(0);
    expect(axis.at(1e300)).toBeLessThan(100);
    expect(Number.isFinite(axis.of(50))).toBe(true);
  }
});

test("the smoothed line of the largest numbers is a line of numbers", () => {
  const values = Array.from({ length: 60 }, (_, at) => (at - 30) * 5e306);
  const smoothed = smooth({ steps: values.map((_, at) => at), values }).values;
  smoothed.forEach((value, at) => {
    expect((value ?? NaN) / 1e308).toBeCloseTo((values[at] ?? NaN) / 1e308, 9);
  });
});
