import { expect, test } from "vitest";
import { inEpochs } from "@/features/experiment-page/curves/epochs";

const LOSS = { steps: [2, 8, 10, 11, 12, 13], values: [6, 5, 4, 3, 2, 1] };

test("a run whose batch grows is drawn at the epochs that it reports", () => {
  // eight steps for the first epoch, two for each later one
  const epochs = { steps: [0, 8, 10, 12], values: [0, 1, 2, 3] };
  expect(inEpochs(LOSS, epochs)).toEqual({ steps: [0.25, 1, 2, 2.5, 3, 3.5], values: LOSS.values });
});

test("steps before the first report have no epoch", () => {
  expect(inEpochs(LOSS, undefined)).toEqual({ steps: [], values: [] });
  expect(inEpochs(LOSS, { steps: [0], values: [0] })).toEqual({ steps: [], values: [] });
});
