import { expect, test } from "vitest";
import { axisOf, logTicks, timeUnit } from "@/shared/frame/axis";
import { bandPath, linePath } from "@/features/compare/curves/lines";
import { rangeAfter, rangeBetween, rangeMoved } from "@/features/compare/curves/ranges";
import { boxOfValues, quantile } from "@/features/compare/panels/BoxPanel";
import { frontPath, paretoFront } from "@/features/compare/scatter/pareto";
import { spreadOf } from "@/shared/series/spread";

test("quantiles lie on the line between two values", () => {
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(quantile([1, 2, 3, 4], 0.25)).toBe(1.75);
  expect(quantile([7], 0.9)).toBe(7);
});

test("whiskers end at the last values that are no outliers", () => {
  expect(boxOfValues([5, 1, 2, 3, 4, 100])).toMatchObject({
    q1: 2.25,
    median: 3.5,
    q3: 4.75,
    low: 1,
    high: 5,
    count: 6,
  });
  expect(boxOfValues([])).toBeNull();
});

test("the Pareto front has the points that no other one beats in both figures", () => {
  const points = [
    [1, 0.7],
    [2, 0.9],
    [3, 0.8],
    [4, 0.95],
    [0.5, 0.6],
  ] as const;
  expect(paretoFront(points, { isHighX: false, isHighY: true })).toEqual([4, 0, 1, 3]);
  expect(paretoFront(points, { isHighX: false, isHighY: false })).toEqual([4]);
  expect(paretoFront(points, { isHighX: true, isHighY: true })).toEqual([3]);
});

test("no point of the front is beaten, and every other one is", () => {
  // a fixed sequence without a pattern
  const points = Array.from({ length: 200 }, (_, at) => [(at * 7919) % 211, (at * 104_729) % 223] as const);
  const front = new Set(paretoFront(points, { isHighX: false, isHighY: false }));
  const isBeaten = (one: readonly [number, number]) =>
    points.some(
      (other) => other[0] <= one[0] && other[1] <= one[1] && (other[0] < one[0] || other[1] < one[1]),
    );
  for (const [at, point] of points.entries()) expect(front.has(at)).toBe(!isBeaten(point));
});

test("equal points are on the front together", () => {
  expect(
    paretoFront(
      [
        [1, 1],
        [1, 1],
        [2, 1],
      ],
      { isHighX: false, isHighY: false },
    ),
  ).toEqual([0, 1]);
});

test("the steps of the front stay at the worse value between two points", () => {
  const same = (value: number) => value;
  const points = [
    { x: 1, y: 5 },
    { x: 2, y: 3 },
  ];
  expect(frontPath(points, same, same, { isHighX: false, isHighY: false })).toBe("M1 5H2V3");
  expect(frontPath(points, same, same, { isHighX: true, isHighY: true })).toBe("M1 5V3H2");
});

test("the spread leaves out runs without a value", () => {
  expect(spreadOf([1, null, 3])).toEqual({ count: 2, mean: 2, deviation: Math.SQRT2, least: 1, most: 3 });
  expect(spreadOf([4])?.deviation).toBeNull();
  expect(spreadOf([null])).toBeNull();
});

test("ticks of a logarithmic axis are powers of ten, with 2 and 5 where there is room", () => {
  expect(logTicks(0.5, 30, 6)).toEqual([0.5, 1, 2, 5, 10, 20]);
  expect(logTicks(1e-6, 1e6, 4)).toEqual([1e-6, 1e-2, 1e2, 1e6]);
  expect(logTicks(2.1, 2.4, 3)).toEqual([2.1, 2.2, 2.3, 2.4]);
});

test("times have ticks at whole minutes or hours", () => {
  expect([30, 456, 9000, 500_000].map(timeUnit)).toEqual([1, 60, 3600, 86_400]);
  const axis = axisOf({ low: 456, high: 840 }, false, 0, 100, { count: 4, unit: timeUnit(840) });
  expect(axis.ticks).toEqual([480, 600, 720, 840]);
});

test.each([false, true])("a drag is a range of values, and a click is none (logarithmic: %s)", (isLog) => {
  const axis = axisOf({ low: 1, high: 100 }, isLog, 0, 200, { count: 4 });
  const range = rangeBetween(axis, 150, 50);
  expect(range?.low).toBeCloseTo(axis.of(50), 2);
  expect(axis.at(range?.high ?? 0)).toBeCloseTo(150, 0);
  expect(rangeBetween(axis, 50, 55)).toBeNull();
  expect(rangeBetween(axis, -100, 500)).toEqual({ low: 1, high: 100 });
});

test("keys and the pointer make the range narrower, wider and move it, within the axis", () => {
  const whole = { low: 0, high: 100, full: { low: 0, high: 100 }, isLog: false };
  const part = { ...whole, low: 40, high: 60 };
  const press = (key: string, shiftKey = false) => ({ key, shiftKey });
  expect(rangeAfter(press("+"), whole, 80)).toEqual({ low: 40, high: 90 }); // 80 has the same place
  expect(rangeAfter(press("+"), whole, null)).toEqual({ low: 25, high: 75 });
  expect(rangeAfter(press("-"), part, null)).toEqual({ low: 30, high: 70 });
  expect(rangeAfter(press("-"), { ...whole, low: 10, high: 90 }, null)).toBeNull();
  expect(rangeAfter(press("x"), whole, 80)).toBeUndefined();
  expect(rangeAfter(press("ArrowRight"), part, null)).toBeUndefined(); // reads the next point
  expect(rangeAfter(press("ArrowRight", true), part, null)).toEqual({ low: 45, high: 65 });
  expect(rangeMoved(part, -5)).toEqual({ low: 0, high: 20 }); // it stops at an end of the axis
  const powers = { low: 10, high: 100, full: { low: 1, high: 1000 }, isLog: true };
  expect(rangeMoved(powers, 1)?.low).toBeCloseTo(100);
  expect(rangeMoved(powers, 1)?.high).toBeCloseTo(1000);
});

test("a gap ends a part of a path, and a band closes around it", () => {
  const same = (value: number) => value;
  expect(linePath({ x: [1, 2, 3, 4], y: [1, 2, null, 4] }, same, same)).toBe("M1 1L2 2M4 4");
  const log = (value: number) => (value > 0 ? value : Number.NaN);
  const band = { x: [1, 2], y: [1, 1], low: [-1, 0.5], high: [2, 3] };
  expect(bandPath(band, same, log, 100)).toBe("M1 2L2 3L2 0.5L1 100Z");
});
