import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { bucketed } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, Service } from "../testing/service";

const AXES = { "schedule.rate": [0.4, 0.1], batch: [64, 128] };

function grid() {
  const runs = [0.4, 0.1].flatMap((rate, row) =>
    [64, 128].map((batch, column) => {
      const number = row * 2 + column;
      const latest = { heldout_accuracy: 0.9 + number / 100, loss: 1, epoch: 2 };
      return aRun({ id: 10 + number, number, values: { "schedule.rate": rate, batch }, latest });
    }),
  );
  const spec = { base: { kind: "engine", epochs: 2 }, axes: AXES, variants: [], name: "a grid" };
  return new Service({
    "GET /experiments/3": () => anExperiment({ spec: spec as never, counts: { running: 4 }, runs: 4 }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": (url) => ({
      name: url.searchParams.get("name"),
      // a second request has no new points
      curves: url.searchParams.has("after")
        ? []
        : runs.map((run) => ({
            run_id: run.id,
            ...bucketed({
              steps: [5, 10],
              values: url.searchParams.get("name") === "epoch" ? [1, 2] : [0.5, 0.9],
            }),
          })),
    }),
    "POST /experiments/3/stop": () => ({ stopping: 4 }),
  });
}

test("the axes are columns, and every run has its row", async () => {
  grid();
  openPage("/experiments/3?tab=curves");
  const row = (await screen.findByRole("link", { name: "Run 11" })).closest("tr");
  expect(row).toHaveTextContent(/0\.4.*128.*running.*3 of 10.*91\.00%/);
  expect(screen.getByRole("columnheader", { name: "rate" })).toBeVisible();
  expect(screen.getAllByRole("row")).toHaveLength(5);
});

test("the fields of variants are columns too, and the legend has each of their values once", async () => {
  const variants = [0.4, 0.1, 8].map((rate) => ({
    "optimizer.kind": rate < 1 ? "sgd" : "lars",
    "schedule.rate": rate,
  }));
  const runs = variants.map((values, number) => aRun({ id: 10 + number, number, values }));
  const spec = { base: { kind: "engine", epochs: 2 }, axes: {}, variants, name: "a grid" };
  new Service({
    "GET /experiments/3": () => anExperiment({ spec: spec as never, counts: { running: 3 }, runs: 3 }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": () => ({ name: "loss", curves: [] }),
  });
  openPage("/experiments/3?tab=curves");
  const row = (await screen.findByRole("link", { name: "Run 12" })).closest("tr");
  expect(row).toHaveTextContent(/lars.*8/);
  expect(screen.getByRole("columnheader", { name: "optimizer kind" })).toBeVisible();
  expect(await screen.findAllByRole("button", { name: "sgd" })).toHaveLength(1);
});

test("the pointer on an axis value highlights its curves, a click hides them", async () => {
  grid();
  openPage("/experiments/3?tab=curves");
  const entry = await screen.findByRole("button", { name: "0.1", pressed: true });
  await waitFor(() => {
    expect(entry).toBeEnabled();
  });
  await userEvent.hover(entry);
  expect(chartOf("12")?.highlighted).toEqual(new Set(["12", "13"]));
  await userEvent.click(entry);
  expect(chartOf("12")?.hidden).toEqual(new Set(["12", "13"]));
  expect(entry).toHaveAttribute("aria-pressed", "false");
  await userEvent.click(screen.getByRole("button", { name: "show all" }));
  expect(chartOf("12")?.hidden).toEqual(new Set());
});

test("the arrow keys select a visible curve and show its value", async () => {
  grid();
  openPage("/experiments/3?tab=curves");
  const chart = await screen.findByRole("slider");
  await waitFor(() => {
    expect(chart).toHaveAttribute("aria-valuetext", "step 10: 4 curves, press up or down to select one");
  });
  await userEvent.click(await screen.findByRole("button", { name: "curve of run 10" }));
  chart.focus();
  await userEvent.keyboard("{ArrowDown}");
  expect(chartOf("11")?.highlighted).toEqual(new Set(["11"]));
  expect(chart).toHaveAttribute("aria-valuetext", "step 10: Run 11, rate 0.4, batch 128: 90.00% at step 10");
  await userEvent.keyboard("{ArrowLeft}");
  expect(chart).toHaveAttribute("aria-valuetext", "step 5: Run 11, rate 0.4, batch 128: 50.00% at step 5");
  await userEvent.keyboard("{ArrowUp}");
  expect(chartOf("11")?.highlighted).toEqual(new Set(["13"]));
  await userEvent.tab();
  expect(chartOf("11")?.highlighted).not.toEqual(new Set(["13"]));
});

test("a single visible curve shows its value without a selection, also by epoch", async () => {
  grid();
  openPage("/experiments/3?tab=curves");
  const chart = await screen.findByRole("slider");
  for (const run of [10, 11, 13])
    await userEvent.click(await screen.findByRole("button", { name: `curve of run ${run}` }));
  await waitFor(() => {
    expect(chart).toHaveAttribute("aria-valuetext", expect.stringMatching(/^step 10: Run 12, .*: 90.00%/));
  });
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "by" }), "epoch");
  // the run reports epoch 2 at step 10
  await waitFor(() => {
    expect(chart).toHaveAttribute("aria-valuetext", expect.stringMatching(/^epoch 2: .* at epoch 2$/));
  });
  expect(screen.getAllByText("epoch")).toHaveLength(2); // the choice, and the unit of the axis
});

test("a choice requests another series, and later polls request its new points only", async () => {
  const service = grid();
  openPage("/experiments/3?tab=curves");
  await userEvent.click(await screen.findByRole("radio", { name: "Training loss" }));
  await waitFor(() => {
    expect(service.requests).toContain("GET /experiments/3/curves?name=loss&buckets=1100");
  });
  const more = "GET /experiments/3/curves?name=loss&buckets=1100&after=10:9&after=11:9&after=12:9&after=13:9";
  await waitFor(() => {
    expect(service.requests).toContain(more);
  });
});

test("a column's heading sorts the runs by it", async () => {
  grid();
  openPage("/experiments/3?tab=curves");
  await userEvent.click(await screen.findByRole("button", { name: "Held-out accuracy" }));
  const first = screen.getAllByRole("row")[1] as HTMLElement;
  await waitFor(() => {
    expect(within(first).getByRole("link")).toHaveTextContent("Run 13");
  });
});

test("the stop button asks for confirmation, and cancel stops nothing", async () => {
  const service = grid();
  openPage("/experiments/3?tab=curves");
  const stop = await screen.findByRole("button", { name: "Stop 4 runs" });
  await userEvent.click(stop);
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Keep running" }));
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(stop).toHaveFocus();
  expect(service.requests).not.toContain("POST /experiments/3/stop");
  await userEvent.click(stop);
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Stop 4 runs" }));
  await waitFor(() => {
    expect(service.requests).toContain("POST /experiments/3/stop");
  });
});

test("an unknown experiment shows the message of the service", async () => {
  new Service({});
  openPage("/experiments/99");
  expect(await screen.findByText(/there is no GET \/experiments\/99/i)).toBeVisible();
});

test("the checkpoint advice shows the best interval with its figures, or the reason for no advice", async () => {
  const service = grid();
  const seen = {
    world: 8,
    runs: 4,
    trained_s: 72_000,
    paused: 1,
    lost_steps: 400,
    saves: 100,
    cost_s: 2,
    write_s: 9,
  };
  const bounds = { between_s: 7200, between_least_s: 3915, between_most_s: 15_020, interval_s: 600 };
  service.answers["GET /experiments/3/checkpoints"] = () => [
    {
      ...seen,
      ...bounds,
      interruptions: 10,
      best_s: 168,
      waste: 0.045,
      best_waste: 0.0236,
      not_below_s: null,
      why: null,
    },
    {
      ...{ ...seen, ...bounds, world: 16, interruptions: 1, paused: 0, lost_steps: 0 },
      ...{ best_s: null, waste: null, best_waste: null, not_below_s: 300, why: "fewer than 3 are too few" },
    },
  ];
  openPage("/experiments/3?tab=curves");
  const panel = await screen.findByRole("region", { name: "Checkpoints" });
  expect(panel).toHaveTextContent(
    "Best interval 2 min 48 s: saving and repeating steps take 2.4% of the time; the current interval 10 min takes 4.5%",
  );
  expect(panel).toHaveTextContent(
    "100 checkpoints written: each stalled training for 2 s and was complete after 9 s",
  );
  expect(panel).toHaveTextContent("10 interruptions in 20 h of training by 4 runs, one every 2 h");
  expect(panel).toHaveTextContent("400 steps repeated; 1 pause without lost steps");
  expect(panel).toHaveTextContent(
    "No advice yet: fewer than 3 are too few; an interval below 5 min does not pay",
  );
});

test("a run that waits shows its reason in the table, as a failed one does", async () => {
  const service = grid();
  const reason = "needs nodes that other jobs use (Resources)";
  service.answers["GET /experiments/3/runs"] = () => ({
    items: [
      aRun({ id: 10, state: "pending", reason }),
      aRun({ id: 11, state: "running", reason: "a warning" }),
    ],
    next: null,
  });
  openPage("/experiments/3?tab=curves");
  expect((await screen.findByRole("link", { name: "Run 10" })).closest("tr")).toHaveTextContent(reason);
  expect(screen.getByRole("link", { name: "Run 11" }).closest("tr")).not.toHaveTextContent("a warning");
});

test("overlaid curves are the measured values until the reader asks for smoothing", async () => {
  const service = grid();
  const steps = Array.from({ length: 400 }, (_, step) => step);
  const values = steps.map((step) => (step === 200 ? 25 : 0));
  service.answers["GET /experiments/3/curves"] = () => ({
    name: "loss",
    curves: [{ run_id: 10, ...bucketed({ steps, values }) }],
  });
  openPage("/experiments/3?tab=curves");
  await userEvent.click(await screen.findByRole("radio", { name: "Training loss" }));
  await waitFor(() => {
    expect(chartOf("10")?.aligned.ys[0]?.[200]).toBe(25);
  });
  await userEvent.click(screen.getByRole("switch", { name: "smooth" }));
  expect(chartOf("10")?.aligned.ys[0]?.[200]).toBeLessThan(25);
});

test("the table has the best accuracy of each run beside the last one, and marks the one of the headline", async () => {
  const service = grid();
  service.answers["GET /experiments/3/runs"] = () => ({
    items: [
      aRun({ id: 10, latest: { heldout_accuracy: 0.7 }, objective_value: 0.9312 }),
      aRun({ id: 11, latest: { heldout_accuracy: 0.8 }, objective_value: 0.81 }),
    ],
    next: null,
  });
  openPage("/experiments/3?tab=curves");
  const row = (await screen.findByRole("link", { name: "Run 10" })).closest("tr");
  expect(row).toHaveTextContent(/70\.00%best: 93\.12%$/);
  expect(screen.getByRole("link", { name: "Run 11" }).closest("tr")).toHaveTextContent(/80\.00%81\.00%$/);
  expect(screen.getByText("best held-out accuracy").parentElement).toHaveTextContent("93.12%");
});

test("the legend of a long axis has a few values with runs, and the others on request", async () => {
  const service = grid();
  const values = Array.from({ length: 150 }, (_, number) => number + 1);
  const spec = { base: { kind: "engine", epochs: 2 }, axes: { batch: values }, variants: [], name: "a grid" };
  service.answers["GET /experiments/3"] = () => anExperiment({ spec: spec as never, runs: 150 });
  service.answers["GET /experiments/3/runs"] = () => ({
    items: values.slice(0, 100).map((batch) => aRun({ id: 100 + batch, number: batch, values: { batch } })),
    next: 100,
  });
  openPage("/experiments/3?tab=curves");
  const legend = await screen.findByRole("group", { name: "batch" });
  await within(legend).findByRole("button", { name: "24" });
  expect(within(legend).getAllByRole("button", { pressed: true })).toHaveLength(24);
  expect(within(legend).queryAllByRole("button", { pressed: false })).toHaveLength(0);
  await userEvent.click(within(legend).getByRole("button", { name: "76 more" }));
  expect(within(legend).getAllByRole("button", { pressed: true })).toHaveLength(100);
});

test("the tabs of series name their units, and a chart that still loads does not say that nothing was measured", async () => {
  const service = grid();
  service.answers["GET /experiments/3/curves"] = () => ({ name: "loss", curves: [] });
  openPage("/experiments/3?tab=curves");
  expect(await screen.findByRole("radio", { name: "Held-out accuracy, %" })).toBeChecked();
  expect(await screen.findByText("Loading the curves…")).toBeVisible();
});

test("curves that no run has are a sentence, not an empty picture", async () => {
  const service = grid();
  service.answers["GET /experiments/3/curves"] = () => ({ name: "loss", curves: [] });
  service.answers["GET /experiments/3/runs"] = () => ({ items: [aRun({ latest: {} })], next: null });
  openPage("/experiments/3?tab=curves");
  expect(await screen.findByText(/^No run has reported a (value|held-out accuracy) yet\.$/)).toBeVisible();
  expect(screen.queryByRole("slider")).toBeNull();
});

test("runs that ended without an accuracy open with their loss", async () => {
  const service = grid();
  service.answers["GET /experiments/3"] = () => anExperiment({ state: "done", counts: { done: 1 } });
  const run = aRun({ state: "done", latest: { loss: 1 } });
  service.answers["GET /experiments/3/runs"] = () => ({ items: [run], next: null });
  openPage("/experiments/3?tab=curves");
  expect(await screen.findByRole("radio", { name: "Training loss" })).toBeChecked();
});
