import { expect, test } from "vitest";
import { tickText } from "@/features/experiment-page/answer/figureText";
import { axisPosition, errorBar } from "@/features/experiment-page/answer/scales";
import { robustRange, roundTicks, spacedTicks } from "@/shared/plot/scales";

test("batches are evenly spread on a log2 axis", () => {
  const at = axisPosition({ path: "batch", name: "batch", scale: "log2", values: [64, 128, 256] }, 0, 100);
  expect([64, 128, 256].map(at)).toEqual([0, 50, 100]);
});

test("one value of an axis stands in its middle", () => {
  expect(axisPosition({ path: "b", name: "b", scale: "linear", values: [3] }, 0, 100)(3)).toBe(50);
});

test("ticks are round numbers within the range", () => {
  expect(roundTicks(0.9512, 0.9848, 5)).toEqual([0.96, 0.97, 0.98]);
  expect(roundTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(roundTicks(3, 3, 5)).toEqual([3]);
});

test("ticks without room are left out, but not the last", () => {
  expect(spacedTicks([1, 2, 3, 4, 5], (value) => value * 10, 20)).toEqual([1, 3, 5]);
});

test("a mean that leaves the others readable is inside the range, however far it is from most of them", () => {
  const means = [0.9926, 0.9889, 0.9871, 0.986, 0.985, 0.984, 0.98, 0.97, 0.9, 0.82];
  expect(robustRange(means)).toEqual({ low: 0.82, high: 0.9926, cut: 0 });
});

test("error bars end where the figure can have no values", () => {
  const spread = { count: 2, mean: 2, deviation: 3, least: 0, most: 4 };
  const figure = { name: "run_s", title: "running time", unit: "seconds" as const, higher_is_better: false };
  expect(errorBar(spread, figure)).toEqual([0, 5]);
  expect(errorBar({ ...spread, mean: 0.9, deviation: 0.2 }, { ...figure, unit: "share" })).toEqual([0.7, 1]);
  expect(errorBar(spread, { ...figure, name: "quux", unit: "number" })).toEqual([-1, 5]);
});

test("values of an axis have the digits that tell them apart", () => {
  const axis = { path: "lr", name: "lr", scale: "linear" as const, values: [0.1234567, 0.1234568] };
  expect(axis.values.map((value) => tickText(value, axis))).toEqual(["0.1234567", "0.1234568"]);
  expect(tickText(0.1 + 0.2, { ...axis, values: [0.1 + 0.2] })).toBe("0.3");
});

test("one value far out does not flatten the others, and is counted", () => {
  expect(robustRange([0.95, 0.96, 0.97, 0.98, 0.1])).toEqual({ low: 0.95, high: 0.98, cut: 1 });
  expect(robustRange([0.95, 0.96, 0.1])).toEqual({ low: 0.1, high: 0.96, cut: 0 });
});
