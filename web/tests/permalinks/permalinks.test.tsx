import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { bucketed, bucketedSeries } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, aRunDetail, Service } from "../testing/service";

function address(): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(window.location.search));
}

/** Press the browser's back button. */
async function goBack(): Promise<void> {
  await act(async () => {
    window.history.back();
    await new Promise((resolve) => {
      window.addEventListener("popstate", resolve, { once: true });
    });
  });
}

function grid() {
  const batches = [64, 128, 256];
  const runs = batches.map((batch, number) =>
    aRun({ id: 10 + number, number, values: { batch, "schedule.rate": 0.1 * (1 + number) } }),
  );
  const axes = { batch: batches, "schedule.rate": [0.1, 0.2, 0.3] };
  const spec = { base: { kind: "engine", epochs: 2 }, axes, variants: [], name: "a grid" };
  return new Service({
    "GET /experiments/3": () => anExperiment({ spec: spec as never, runs: 3 }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": (url) => ({
      name: url.searchParams.get("name"),
      curves: runs.map((run) => ({ run_id: run.id, ...bucketed({ steps: [1, 2, 3], values: [3, 2, 1] }) })),
    }),
  });
}

test("every choice of the overlaid curves is in the address, and the back button returns to the view before", async () => {
  grid();
  openPage("/experiments/3?tab=curves");
  await userEvent.click(await screen.findByRole("radio", { name: "Training loss" }));
  await userEvent.click(screen.getByRole("switch", { name: "smooth" }));
  await userEvent.click(screen.getByRole("switch", { name: "log scale" }));
  expect(address()).toEqual({ tab: "curves", series: "loss", smooth: "on", log: "on" });
  const legend = await screen.findByRole("group", { name: "batch" });
  await userEvent.click(within(legend).getByRole("button", { name: "64" }));
  expect(address()).toMatchObject({ hidden: "10" });
  await userEvent.click(await screen.findByRole("button", { name: "color by rate" }));
  expect(address()).toMatchObject({ color: "schedule.rate" });
  act(() => {
    chartOf("10")?.onRange?.([100, 200]);
  });
  expect(address()).toMatchObject({ from: "100", to: "200" });
  act(() => {
    chartOf("10")?.onRange?.([150, 250]);
  });
  expect(address()).toMatchObject({ from: "150", to: "250" });

  await goBack(); // the moves of a zoomed range are one view
  expect(address()).not.toHaveProperty("from");
  expect(chartOf("10")?.range).toBeNull();
  await goBack();
  expect(address()).not.toHaveProperty("color");
  await goBack();
  expect(address()).toEqual({ tab: "curves" });
  expect(screen.getByRole("radio", { name: "Held-out accuracy, %" })).toBeChecked();
});

test("a link of the overlaid curves shows the same view", async () => {
  const service = grid();
  const link = "series=loss&smooth=on&log=on&hidden=10%2C11&color=schedule.rate&from=1&to=2&range=whole";
  openPage(`/experiments/3?tab=curves&${link}`);
  expect(await screen.findByRole("radio", { name: "Training loss" })).toBeChecked();
  expect(screen.getByRole("switch", { name: "smooth" })).toBeChecked();
  expect(screen.getByRole("switch", { name: "log scale" })).toBeChecked();
  await waitFor(() => {
    expect(chartOf("10")).toMatchObject({ range: [1, 2], hidden: new Set(["10", "11"]), logarithmic: true });
  });
  expect(screen.getByRole("button", { name: "color by batch" })).toBeVisible();
  // the zoomed part is asked for in finer buckets
  await waitFor(() => {
    expect(service.requests).toContainEqual(expect.stringMatching(/name=loss.*from=0&to=4/));
  });
});

test("a run's page has zoom, smoothing, log scales and the other run of the diff in its address", async () => {
  const service = new Service({
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => bucketedSeries({ loss: { steps: [1, 2, 3], values: [3, 2, 1] } }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  const chart = await screen.findByRole("region", { name: "Loss" });
  await userEvent.click(screen.getByRole("switch", { name: "smooth" }));
  await userEvent.click(within(chart).getByRole("switch", { name: "log scale" }));
  act(() => {
    chartOf("loss")?.onRange?.([1, 2]);
  });
  expect(address()).toEqual({ smooth: "off", log: "loss", from: "1", to: "2" });
  const panel = screen.getByRole("region", { name: "Compare with another run" });
  await userEvent.type(within(panel).getByRole("textbox", { name: "Run" }), "8");
  await userEvent.click(within(panel).getByRole("button", { name: "Compare" }));
  expect(address()).toMatchObject({ other: "8" });
  expect(service.requests).toContain("GET /runs/7/differences?other=8");
  await goBack();
  expect(within(panel).getByRole("textbox", { name: "Run" })).toHaveValue("");
});

test("a link of a run's page shows the same charts and the same diff", async () => {
  const service = new Service({
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => bucketedSeries({ loss: { steps: [1, 2, 3], values: [3, 2, 1] } }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7?smooth=off&log=loss&from=1&to=2&other=8");
  await waitFor(() => {
    expect(chartOf("loss")).toMatchObject({ range: [1, 2], logarithmic: true });
  });
  expect(screen.getByRole("switch", { name: "smooth" })).not.toBeChecked();
  expect(screen.getByRole("textbox", { name: "Run" })).toHaveValue("8");
  expect(service.requests).toContain("GET /runs/7/differences?other=8");
});
