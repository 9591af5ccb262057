import { afterEach, beforeEach, expect, test, vi } from "vitest";
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
