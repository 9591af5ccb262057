import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { nearestIndex } from "@/shared/plot/options";
import { resultRange, robustRange } from "@/shared/plot/yRange";
import { moved, type Range, scaled, settled } from "@/shared/plot/zoom";

const FULL: Range = [0, 1000];

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a range moves by a share of its width and stops at the ends of the data", () => {
  expect(moved([400, 600], FULL, 0.25)).toEqual([450, 650]);
  expect(moved([400, 600], FULL, -0.25)).toEqual([350, 550]);
  expect(moved([850, 950], FULL, 3)).toEqual([900, 1000]);
  expect(moved([50, 150], FULL, -3)).toEqual([0, 100]);
});

test("a range becomes narrower around a point that keeps its place, and never wider than the data", () => {
  expect(scaled([0, 1000], FULL, 0.5, 250)).toEqual([125, 625]);
  expect(scaled([125, 625], FULL, 2, 250)).toEqual([0, 1000]);
  expect(scaled([800, 900], FULL, 2, 890)).toEqual([710, 910]);
  expect(scaled([900, 1000], FULL, 2, 990)).toEqual([800, 1000]);
});

test("a range that is made narrower again and again keeps a width with ticks", () => {
  let range: Range = [0, 100_000];
  for (let at = 0; at < 100; at++) range = scaled(range, [0, 100_000], 0.5, 77_777);
  expect(range[1] - range[0]).toBeGreaterThanOrEqual(0.1);
});

test("of calls in a quick series the first counts at once and the last after a pause", () => {
  const apply = vi.fn();
  const call = settled(apply, 150);
  for (let at = 0; at < 10; at++) {
    call();
    vi.advanceTimersByTime(16);
  }
  expect(apply).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(150);
  expect(apply).toHaveBeenCalledTimes(2);
});

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
