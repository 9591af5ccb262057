import uPlot from "uplot";
import { expect, test } from "vitest";
import { formatMemory, formatTick } from "@/shared/format/number";
import { type Tick, tickTexts, widthOf } from "@/shared/format/ticks";
import { formatStepTime } from "@/shared/format/time";
import { optionsFor } from "@/shared/plot/options";
import { roundTicks } from "@/shared/plot/scales";
import { fullX, type View } from "@/shared/plot/view";
import { seriesKind } from "@/shared/series/catalog";

test("half of the widest tick of the x axis fits to the right of its end", () => {
  const view: View = { lines: [], aligned: { x: [0, 100_000], ys: [] }, tick: formatTick };
  const right = optionsFor(view, () => view, { width: 400, height: 200 }).padding?.[1];
  if (typeof right !== "function") throw new Error("the padding is fixed");
  const widthAt = right as (plot: uPlot) => number;
  for (const [min, max] of [
    [0, 100_000],
    [1e9, 1e9 + 2000],
  ] as const) {
    const plot = { width: 400, scales: { x: { min, max } } } as unknown as uPlot;
    const last = tickTexts([max - 500, max]).slice(-1);
    expect(widthAt(plot)).toBeGreaterThanOrEqual(widthOf(last) / 2);
  }
});

test("a chart of one point shows all of x, and follows a range that the reader chooses", () => {
  const view: View = { lines: [], aligned: { x: [2048], ys: [] }, tick: formatTick };
  const { range } = optionsFor(view, () => view, { width: 400, height: 200 }).scales?.x ?? {};
  if (typeof range !== "function") throw new Error("the x scale has no range");
  const plot = { data: [[2048]] } as unknown as uPlot;
  // uPlot makes a range around a single value before it asks
  const [low, high] = uPlot.rangeNum(2048, 2048, 0.1, true);
  expect([low, high]).not.toEqual([0, 2048]);
  expect(range(plot, low ?? 0, high ?? 0, "x")).toEqual([0, 2048]);
  expect(range(plot, 100, 3000, "x")).toEqual([100, 3000]);
});

test("an axis of x begins at 0, or with the first step of a run that starts late", () => {
  const of = (x: number[], more: Partial<View> = {}) => fullX({ aligned: { x, ys: [] }, ...more });
  expect(of([1, 500, 1000])).toEqual([0, 1000]);
  expect(of([400, 1000])).toEqual([0, 1000]);
  expect(of([1e9, 1e9 + 1990])).toEqual([1e9, 1e9 + 1990]);
  expect(of([1e9 + 1000, 1e9 + 1990], { xMin: 1e9, xMax: 1e9 + 2000 })).toEqual([1e9, 1e9 + 2000]);
  expect(of([2048])).toEqual([0, 2048]);
  expect(of([-20, 10])).toEqual([-20, 10]);
  expect(of([])).toEqual([0, 1]);
});

const SIZE = { width: 600, height: 200 };
const PLOT = { ...SIZE, scales: {} } as unknown as uPlot;

function chartOf(ys: number[], more: Partial<View> = {}) {
  const view: View = {
    lines: [],
    aligned: { x: ys.map((_, at) => at), ys: [ys] },
    tick: formatTick,
    ...more,
  };
  const options = optionsFor(view, () => view, SIZE);
  const { range } = options.scales?.y ?? {};
  if (typeof range !== "function") throw new Error("the y scale has no range");
  const [low = NaN, high = NaN] = range(PLOT, Math.min(...ys), Math.max(...ys), "y").map(Number);
  return { low, high, ...ticksOf(options, 1, low, high) };
}

function ticksOf(options: uPlot.Options, at: number, low: number, high: number) {
  const { splits, values, size } = options.axes?.[at] ?? {};
  if (typeof splits !== "function" || typeof values !== "function") throw new Error("the axis has no ticks");
  const ticks = splits(PLOT, at, low, high, 1, 50);
  const texts = values(PLOT, ticks, at, 50, 1) as string[];
  return { ticks, texts, width: typeof size === "function" ? size(PLOT, texts, at, 1) : 0 };
}

test.each([
  ["1 + 1e-8 s", Array.from({ length: 100 }, (_, s) => 1 + 1e-8 * s)],
  ["1 + 1e-9 s", Array.from({ length: 100 }, (_, s) => 1 + 1e-9 * s)],
  ["1 + 1e-14 s", Array.from({ length: 100 }, (_, s) => 1 + 1e-14 * s)],
  ["two numbers without one between them", [1, 1 + Number.EPSILON]],
  ["1,000 + 1e-8 s", Array.from({ length: 100 }, (_, s) => 1000 + 1e-8 * s)],
  ["the least numbers", [0, Number.MIN_VALUE]],
  ["equal", [1, 1]],
  ["zero", [0, 0]],
  ["negative", [-1 - 1e-9, -1]],
])("a chart of numbers that hardly differ has a range with few and different ticks: %s", (_, ys) => {
  const { low, high, ticks, texts } = chartOf(ys);
  expect(high).toBeGreaterThan(low);
  expect([low <= Math.min(...ys), high >= Math.max(...ys)]).toEqual([true, true]);
  expect(ticks.length).toBeGreaterThan(0);
  expect(ticks.length).toBeLessThan(20);
  expect(new Set(texts).size).toBe(texts.length);
});

test("a curve from 1 to 1.00000099 fills its chart", () => {
  const { low, high } = chartOf(Array.from({ length: 100 }, (_, s) => 1 + 1e-8 * s));
  expect(0.99e-6 / (high - low)).toBeGreaterThan(0.8);
});

test.each<[number[], string[], Tick?]>([
  [
    [1, 1.0000002, 1.0000004],
    ["1", "1.0000002", "1.0000004"],
  ],
  [
    [249_980, 250_000, 250_020],
    ["249,980", "250,000", "250,020"],
  ],
  [
    [-1237.5, -1237],
    ["-1,237.5", "-1,237"],
  ],
  [
    [0, 500, 1000, 1500],
    ["0", "500", "1k", "1.5k"],
  ],
  [
    [1e9, 1e9 + 500],
    ["1,000,000,000", "1,000,000,500"],
  ],
  [
    [1e-4, 1, 1e4],
    ["1e-4", "1", "10k"],
  ],
  [
    [0.00012345, 0.00012346],
    ["1.2345e-4", "1.2346e-4"],
  ],
  [[0.99991, 0.99992], ["99.991%", "99.992%"], seriesKind("heldout_accuracy").tick],
  [[0.0120001, 0.0120002], ["12.0001 ms", "12.0002 ms"], formatStepTime],
  [[1_000_100_000, 1_000_200_000], ["1.0001 GB", "1.0002 GB"], formatMemory],
])("ticks are exact and no two alike: %s", (ticks, texts, tick) => {
  expect(tickTexts(ticks, tick)).toEqual(texts);
});

test("the axis of y is as wide as its longest text, and of short ones as wide as in any other chart", () => {
  const { texts, width } = chartOf([8.93e-13, 8.934e-13]);
  expect(width).toBeGreaterThan(widthOf(texts));
  expect(chartOf([1, 2]).width).toBe(52);
});

test("steps have no tick between two of them, and those of a late start differ and fit side by side", () => {
  expect(roundTicks(0, 3, 8, true)).toEqual([0, 1, 2, 3]);
  const x = Array.from({ length: 200 }, (_, at) => 1e9 + 10 * at);
  const view: View = { lines: [], aligned: { x, ys: [x] }, tick: formatTick, isCounted: true };
  const options = optionsFor(view, () => view, SIZE);
  const { range } = options.scales?.x ?? {};
  if (typeof range !== "function") throw new Error("the x scale has no range");
  const [low, high] = range({ data: [x] } as unknown as uPlot, 1e9, 1e9 + 1990, "x").map(Number);
  expect([low, high]).toEqual([1e9, 1e9 + 1990]);
  const { ticks, texts } = ticksOf(options, 0, low ?? 0, high ?? 0);
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts).toContain("1,000,000,500");
  expect(ticks.length * (widthOf(texts) + 10)).toBeLessThan(SIZE.width);
});
