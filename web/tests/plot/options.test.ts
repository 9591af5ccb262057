import uPlot from "uplot";
import { expect, test } from "vitest";
import { formatTick } from "@/shared/format/number";
import { optionsFor } from "@/shared/plot/options";
import type { View } from "@/shared/plot/view";

const CHARACTER_PX = 7.2; // the widest digit of the font of the axes, at 12 px

test("half of the widest tick of the x axis fits to the right of its end", () => {
  const view: View = { lines: [], aligned: { x: [0, 100_000], ys: [] }, tick: formatTick };
  const options = optionsFor(view, () => view, { width: 400, height: 200 });
  const right = options.padding?.[1];
  const widest = Math.max(...[1000, 20_000, 100_000, 950_000, 2e6].map((x) => formatTick(x).length));
  expect(formatTick(100_000)).toBe("100k");
  expect(right).toBeGreaterThanOrEqual((widest * CHARACTER_PX) / 2);
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
