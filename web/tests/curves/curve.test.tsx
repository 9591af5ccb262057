import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { linesOf } from "@/features/compare/curves/lines";
import type { BucketedCurve } from "@/shared/api/types";
import { valueAt } from "@/shared/curves/column";
import { grow, isTooFine, lastBucket, recentMean, refine } from "@/shared/curves/curve";
import { bucketed, curve } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, Service } from "../testing/service";

const WIDE: BucketedCurve = {
  width: 100,
  first_step: 1,
  last_step: 350,
  steps: [0, 100, 200, 300],
  counts: [99, 100, 100, 51],
  min: [1, 1, null, 1],
  max: [2, 50, null, 1],
  mean: [1.5, 1.2, null, 1],
  last: [1, 1, null, 1],
  nan: [200],
  infinity: [],
  minus_infinity: [300],
};

test("least and greatest of each bucket are drawn, a bucket without finite values is a gap, the end is the last step", () => {
  const { envelope, notFinite } = grow(undefined, WIDE);
  expect(envelope).toEqual({
    steps: [0, 50, 100, 150, 200, 300, 350],
    values: [1, 2, 50, 1, null, 1, 1],
  });
  expect(notFinite).toEqual([
    { step: 200, kind: "nan" },
    { step: 300, kind: "minus_infinity" },
  ]);
});

test("a curve that grows replaces its last bucket and all after it", () => {
  const fresh = bucketed({ steps: [300, 350, 351], values: [1, 1, 4] });
  const grown = grow(grow(undefined, WIDE), fresh);
  expect(lastBucket(grow(undefined, WIDE))).toBe(300);
  expect(grown.envelope.steps).toEqual([0, 50, 100, 150, 200, 300, 350, 351]);
  expect(grown.counts).toEqual([99, 100, 100, 1, 1, 1]);
  expect(grown.notFinite).toEqual([{ step: 200, kind: "nan" }]);
  expect(grown.end).toBe(351);
  expect([isTooFine(grown, 2), isTooFine(grown, 3)]).toEqual([true, false]);
});

test("a zoomed part is drawn in its place, between the wider buckets around it", () => {
  const part = grow(undefined, {
    ...bucketed({ steps: [120, 121, 130], values: [1, 50, 1] }),
    last_step: 350,
  });
  const whole = grow(undefined, WIDE);
  expect(refine(whole, part).envelope).toEqual({
    steps: [0, 50, 100, 120, 121, 130, 150, 200, 300, 350],
    values: [1, 2, 50, 1, 50, 1, 1, null, 1, 1],
  });
  expect(refine(whole, undefined)).toBe(whole);
  expect(refine(whole, whole)).toBe(whole);
});

test("the recent mean of rates is that of the times, and buckets weigh by their points", () => {
  expect(recentMean(undefined, 50)).toBeNull();
  expect(recentMean(curve(9, 1, 3), 2)).toBe(1.5);
  const rates = grow(undefined, { ...WIDE, mean: [1, 1, 2, 4] });
  expect(recentMean(rates, 52)).toBeCloseTo(151 / (100 / 2 + 51 / 4));
});

test("an overlay marks on each line where its run resumed, by any axis, and says what the sign is", async () => {
  const runs = [10, 11].map((id) => aRun({ id, latest: { loss: 1, epoch: 2, heldout_accuracy: 0.5 } }));
  const service = new Service({
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": (url) => ({
      name: url.searchParams.get("name"),
      curves: [10, 11].map((id) => ({
        run_id: id,
        devices: 1,
        restarts: id === 11 ? [2, 3] : [],
        ...bucketed({
          steps: [2, 4],
          values: url.searchParams.get("name") === "epoch" ? [1, 2] : [0.2, 0.5],
        }),
      })),
    }),
  });
  openPage("/experiments/3?tab=curves");
  await waitFor(() => {
    expect(chartOf("10")?.restarts).toEqual([[], [2, 3]]);
  });
  expect(screen.getByText("A ring: the run resumed there after a restart.")).toBeVisible();
  openPage("/experiments/3?tab=curves&x=epoch");
  await waitFor(() => {
    expect(chartOf("10")?.restarts).toEqual([[], [1, 1.5]]);
  });
  expect(service.requests.length).toBeGreaterThan(0);
});

test("a ring is on the line: at its last value before the restart", () => {
  expect(valueAt([1, 3, 5], [10, undefined, 20], 4)).toBe(10);
  expect(valueAt([1, 3, 5], [undefined, 15, 20], 0)).toBe(15);
  expect(valueAt([1, 3], [null, undefined], 3)).toBeNull();
});

test("compared runs have the places of their restarts, by the chosen axis; means have none", () => {
  const facts = { width: 1, last_step: 4, devices: 1, min: null, max: null, not_finite: [] };
  const curve = { ...facts, run_id: 1, steps: [2, 4], mean: [3, 1], restarts: [2, 3] };
  const epochs = { ...facts, run_id: 1, steps: [2, 4], mean: [1, 2], restarts: [] };
  const group = { key: "a", label: "a", ids: [1], color: "#123456", dash: [] };
  const plain = { isLog: false, smoothing: 0, isMean: false };
  const [curves, places] = [new Map([[1, curve]]), new Map([[1, epochs]])];
  expect(linesOf([group], curves, new Map(), { ...plain, axis: "step" })[0]?.restarts).toEqual([2, 3]);
  expect(linesOf([group], curves, places, { ...plain, axis: "epoch" })[0]?.restarts).toEqual([1, 1.5]);
  const means = linesOf([group], curves, new Map(), { ...plain, axis: "step", isMean: true });
  expect(means[0]?.restarts).toEqual([]);
});
