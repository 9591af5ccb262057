import { expect, test } from "vitest";
import { nearRange, sharesOf, slowestRank, splitTime } from "@/features/run-page/charts/timeSplit";
import { curve, seriesOf } from "../testing/curves";

test("the reported parts share the time", () => {
  const split = splitTime(
    seriesOf({
      compute_s: curve(2, 0.5),
      update_s: curve(1, 0.5),
      communication_s: curve(1, 1),
      input_s: curve(0, 0),
      idle_s: curve(1, 3),
    }),
  );
  expect(split?.parts.map((part) => part.title)).toEqual([
    "Compute",
    "Update",
    "Communication",
    "Input",
    "Idle",
  ]);
  expect(split?.whole).toEqual([1.25, 0.75, 1, 0, 2]);
  expect(sharesOf(split?.whole ?? [])).toEqual([0.25, 0.15, 0.2, 0, 0.4]);
  expect(split?.steps).toBe(2);
  expect(split?.stack.ys.at(-1)).toEqual([5, 5]);
});

test("the cost of K-FAC is a part of its own, and the sum stays the time of a step", () => {
  const split = splitTime(
    seriesOf({
      compute_s: curve(4, 2),
      update_s: curve(3, 1),
      communication_s: curve(1, 1),
      factors_s: curve(1, 0),
      inverses_s: curve(1.5, 0),
      precondition_s: curve(0.5, 0.5),
    }),
  );
  expect(split?.parts.map((part) => part.title)).toEqual(["Compute", "Update", "K-FAC", "Communication"]);
  expect(split?.means.ys).toEqual([
    [3, 2],
    [1, 0.5],
    [3, 0.5],
    [1, 1],
  ]);
  expect(split?.stack.ys.at(-1)).toEqual([8, 4]);
  expect(sharesOf(split?.whole ?? [])).toEqual([5 / 12, 1.5 / 12, 3.5 / 12, 2 / 12]);
});

test("a run without update and idle time has three parts, a run without values has no split", () => {
  const before = { compute_s: curve(1), communication_s: curve(1), input_s: curve(0) };
  expect(splitTime(seriesOf(before))?.parts).toHaveLength(3);
  expect(splitTime(seriesOf({}))).toBeNull();
});

test("the slowest rank is the slowest one most often", () => {
  const series = { slowest_rank: curve(2, 0, 2, null), idle_s: curve(0.1, 0.1, 0.1, null) };
  expect(slowestRank(seriesOf(series))).toEqual({ rank: 2, share: 2 / 3 });
  expect(slowestRank(seriesOf({ slowest_rank: curve(0, 0), idle_s: curve(0, 0) }))).toBeNull();
});

test("one slow step does not flatten the others, and is named with its time", () => {
  const split = splitTime(seriesOf({ compute_s: curve(3, 0.01, 0.012, 0.011, 0.01, 0.012) }));
  if (!split) throw new Error("no split");
  expect(nearRange(split)).toEqual({ low: 0, high: 0.012, cut: 1, most: 3, at: 1 });
  const even = splitTime(seriesOf({ compute_s: curve(0.01, 0.01, 0.011, 0.01) }));
  expect(even && nearRange(even)).toBeNull();
});
