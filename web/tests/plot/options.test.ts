import uPlot from "uplot";
import { expect, test } from "vitest";
import { formatTick } from "@/shared/format/number";
import { tickTexts, widthOf } from "@/shared/format/ticks";
import { fullX, type View } from "@/shared/plot/view";
import { optionsFor } from "@/shared/plot/options";

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
