import { expect, test } from "vitest";
import { axisPosition } from "@/features/experiment-page/answer/scales";
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

test("one value far out does not flatten the others, and is counted", () => {
  expect(robustRange([0.95, 0.96, 0.97, 0.98, 0.1])).toEqual({ low: 0.95, high: 0.98, cut: 1 });
  expect(robustRange([0.95, 0.96, 0.1])).toEqual({ low: 0.1, high: 0.96, cut: 0 });
});
