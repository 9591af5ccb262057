import { expect, test } from "vitest";
import { nearestIndex } from "@/shared/plot/options";
import { resultRange, robustRange } from "@/shared/plot/yRange";

const curve = (from: number, to: number) =>
  Array.from({ length: 11 }, (_, at) => Number((from + ((to - from) * at) / 10).toPrecision(9)));

test("one diverged curve of many is cut, and counted", () => {
  const curves = [curve(2.3, 0.1), curve(2.2, 0.2), curve(2.4, 0.1), curve(2.3, 0.3), curve(2.3, 1e9)];
  expect(robustRange(curves)).toEqual({ low: 0.1, high: 2.4, cut: 1 });
});

test("equal curves with one far below them are seen, and the far one is counted", () => {
  const range = robustRange([...Array.from({ length: 5 }, () => curve(2, 1)), curve(2, -900)]);
  expect(range).toEqual({ low: 1, high: 2, cut: 1 });
});

test("a spike of a single curve, and curves that are near each other, are never cut", () => {
  expect(robustRange([[1, 1, 25, 1, 1]])).toBeNull();
  expect(robustRange([curve(2.3, 0.1), curve(3, 0.2), curve(4, 0.1), curve(5, 0.3)])).toBeNull();
});

test("accuracies that all end near the top fill the picture, and those that do not have the whole range", () => {
  const learned = (end: number) => [0.1, 0.5, 0.9, end - 0.002, end - 0.001, end];
  const range = resultRange([learned(0.97), learned(0.985)]);
  expect(range?.low).toBeGreaterThan(0.95);
  expect(range?.high).toBe(0.985);
  expect(range?.cut).toBe(2);
  expect(resultRange([learned(0.97), [0.1, 0.1, 0.2, 0.3, 0.4, 0.5]])).toBeNull();
});

test("a single curve and no values have no range of their own", () => {
  expect(resultRange([[0.1, 0.98, 0.98, 0.98]])).toBeNull();
  expect(resultRange([])).toBeNull();
  expect(resultRange([[null, undefined]])).toBeNull();
});

test("the pointer reads no curve that has ended or not begun, and the nearest point between two", () => {
  const values = [undefined, 1, undefined, undefined, 2, null, undefined, undefined];
  expect([0, 1, 2, 3, 4, 5, 6, 7].map((at) => nearestIndex(values, at))).toEqual([
    null,
    1,
    1,
    4,
    4,
    5,
    null,
    null,
  ]);
});
