import { expect, test } from "vitest";
import type { BucketedCurve } from "@/shared/api/types";
import { grow, isTooFine, lastBucket, recentMean, refine } from "@/shared/curves/curve";
import { bucketed, curve } from "../testing/curves";

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
