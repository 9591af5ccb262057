import { expect, test } from "vitest";
import { keys } from "@/shared/api/keys";
import { intervalOf } from "@/shared/live/touched";
import { aChange } from "../testing/fakeEventSource";

test("points of a run concern its curves and what shows its steps, and nothing of other runs", () => {
  const items = aChange();
  expect(intervalOf(keys.runPoints(7), items)).toBeLessThan(300);
  expect(intervalOf(keys.experimentSeries(3, "loss"), items)).toBeLessThan(300);
  expect(intervalOf(keys.run(7), items)).toBe(1000);
  expect(intervalOf(keys.experiment(3), items)).toBe(2000);
  expect(intervalOf(keys.runTable({}, 0), items)).not.toBeNull();
  for (const key of [
    keys.run(8),
    keys.runPoints(8),
    keys.experiment(4),
    keys.runLog(7),
    keys.runDifferences(7, 8),
    keys.experimentName(3),
    keys.clusters(),
  ])
    expect(intervalOf(key, items)).toBeNull();
});

test("points concern the comparisons that have their run", () => {
  const items = aChange();
  expect(intervalOf(keys.comparedCurves([3, 7], "loss", []), items)).toBe(2000);
  expect(intervalOf(keys.comparedRuns([3, 7], []), items)).toBe(2000);
  expect(intervalOf(keys.comparedCurves([3, 8], "loss", []), items)).toBeNull();
  const state = aChange({ has_points: false, has_details: true });
  expect(intervalOf(keys.comparedCurves([7], "loss", []), state)).toBeNull();
  expect(intervalOf(keys.comparedRuns([7], []), state)).toBe(2000);
});

test("a new state is asked for at once, and needs no curves", () => {
  const items = aChange({ has_points: false, has_details: true });
  expect(intervalOf(keys.run(7), items)).toBeLessThan(300);
  expect(intervalOf(keys.experimentRuns(3, null), items)).toBeLessThan(300);
  expect(intervalOf(keys.runPoints(7), items)).toBeNull();
});

test("a change of an experiment itself concerns its page and the lists", () => {
  const items = { runs: [], experiments: [3], mark: "" };
  expect(intervalOf(keys.experiment(3), items)).toBeLessThan(300);
  expect(intervalOf(keys.experimentList({}), items)).not.toBeNull();
  expect(intervalOf(keys.experiment(4), items)).toBeNull();
  expect(intervalOf(keys.experimentList({}), { runs: [], experiments: [], mark: "" })).toBeNull();
});
