import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { inAxis, offeredAxes, placesOf, stepsOf } from "@/shared/curves/xAxis";
import { bucketed, bucketedSeries } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, aRunDetail, Service } from "../testing/service";

const LOSS = { steps: [2, 8, 10, 11, 12, 13], values: [6, 5, 4, 3, 2, 1] };

function reported(steps: number[], values: number[], devices = 1) {
  return { known: { steps, values }, devices };
}

test("a run whose batch grows is drawn at the epochs that it reports", () => {
  // eight steps for the first epoch, two for each later one
  const epochs = reported([0, 8, 10, 12], [0, 1, 2, 3]);
  expect(inAxis(LOSS, "epoch", epochs)).toEqual({ steps: [0.25, 1, 2, 2.5, 3, 3.5], values: LOSS.values });
});

test("steps of a run without a report have no place", () => {
  expect(inAxis(LOSS, "epoch", { known: undefined, devices: 1 })).toEqual({ steps: [], values: [] });
  expect(inAxis(LOSS, "epoch", reported([0], [0]))).toEqual({ steps: [], values: [] });
  expect(placesOf([1, 2], "step", { known: undefined, devices: 1 })).toEqual([1, 2]);
});

test("epochs, samples, seconds and device-hours of a step lie between the reports of the run", () => {
  expect(placesOf([5, 10, 20, 30, 40], "epoch", reported([10, 30], [1, 2]))).toEqual([0.5, 1, 1.5, 2, 2.5]);
  expect(placesOf([5, 10, 15, 20], "samples", reported([10, 20], [64, 128]))).toEqual([320, 640, 1280, 1920]);
  expect(placesOf([5, 10], "seconds", reported([10], [1800]))).toEqual([900, 1800]);
  expect(placesOf([5, 10], "device_hours", reported([10], [1800], 16))).toEqual([4, 8]);
});

test("a range of an axis is asked for by the steps of all runs in it", () => {
  const runs = [
    { ...reported([10, 20], [1, 2]), end: 30 },
    { ...reported([100, 200], [1, 2]), end: 300 },
  ];
  expect(stepsOf([1, 2], "epoch", runs)).toEqual([10, 200]);
  expect(stepsOf([1.5, 9], "epoch", runs)).toEqual([10, 300]);
  expect(stepsOf([1, 2], "step", runs)).toEqual([1, 2]);
  expect(stepsOf(null, "epoch", runs)).toBeNull();
});

test("an axis is offered if a run reports its series, or if the address names it", () => {
  const axes = (...names: string[]) => offeredAxes(names, "step").map(([axis]) => axis);
  expect(axes("loss")).toEqual(["step"]);
  expect(axes("loss", "epoch", "batch")).toEqual(["step", "epoch", "samples"]);
  expect(axes("trained_s")).toEqual(["step", "seconds", "device_hours"]);
  expect(offeredAxes([], "samples").map(([axis]) => axis)).toEqual(["step", "samples"]);
});

test("an experiment's curves are drawn by device-hours of the devices of each run", async () => {
  const runs = [10, 11].map((id) =>
    aRun({ id, latest: { loss: 1, trained_s: 3600, heldout_accuracy: 0.5 } }),
  );
  new Service({
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": (url) => ({
      name: url.searchParams.get("name"),
      curves: [10, 11].map((id) => ({
        run_id: id,
        devices: id === 10 ? 4 : 16,
        restarts: [],
        ...bucketed({
          steps: [1, 2],
          values: url.searchParams.get("name") === "trained_s" ? [1800, 3600] : [0.2, 0.5],
        }),
      })),
    }),
  });
  openPage("/experiments/3?tab=curves");
  await userEvent.selectOptions(await screen.findByRole("combobox", { name: "by" }), "device-hours");
  expect(window.location.search).toContain("x=device_hours");
  await waitFor(() => {
    expect(chartOf("10")?.aligned.x).toEqual([2, 4, 8, 16]);
  });
  expect(chartOf("10")?.aligned.ys[1]).toEqual([undefined, undefined, 0.2, 0.5]);
  expect(screen.getByRole("slider")).toHaveAttribute(
    "aria-valuetext",
    expect.stringMatching(/^16 device-hours/),
  );
});

test("a run's charts are drawn by the chosen axis, restarts as well, and a zoom asks for the steps in it", async () => {
  const restart = { attempt: 2, step: 2, lost_steps: 1, at: "2026-01-05T12:01:00Z" };
  const service = new Service({
    "GET /runs/7": () => aRunDetail({ series: ["loss", "trained_s"], restarts: [restart], step: 3 }),
    "GET /runs/7/curves": () =>
      bucketedSeries({
        loss: { steps: [1, 2, 3], values: [3, 2, 1] },
        trained_s: { steps: [1, 2, 3], values: [60, 120, 180] },
      }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7?x=seconds&from=60&to=120");
  await waitFor(() => {
    expect(chartOf("loss")).toMatchObject({ aligned: { x: [60, 120, 180] }, marks: [120], xMax: 180 });
  });
  await waitFor(() => {
    expect(service.requests).toContainEqual(expect.stringMatching(/curves\?buckets=\d+&from=0&to=4$/));
  });
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "by" }), "step");
  expect(window.location.search).toBe(""); // the zoom was one of seconds
  await waitFor(() => {
    expect(chartOf("loss")?.aligned.x).toEqual([1, 2, 3]);
  });
});
