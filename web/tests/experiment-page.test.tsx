import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { chartOf } from "./fakeChart";
import { open } from "./openPage";
import { anExperiment, aRun, Service } from "./service";

const AXES = { "schedule.rate": [0.4, 0.1], batch: [64, 128] };

function sweep() {
  const runs = [0.4, 0.1].flatMap((rate, row) =>
    [64, 128].map((batch, column) => {
      const number = row * 2 + column;
      const latest = { heldout_accuracy: 0.9 + number / 100, loss: 1 };
      return aRun({ id: 10 + number, number, values: { "schedule.rate": rate, batch }, latest });
    }),
  );
  const spec = { base: { epochs: 2 }, axes: AXES, name: "a sweep" };
  return new Service({
    "GET /experiments/3": () => anExperiment({ spec: spec as never, counts: { running: 4 }, runs: 4 }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/points": (url) => ({
      name: url.searchParams.get("name"),
      // a run that is known is known whole
      curves: url.searchParams.has("after")
        ? []
        : runs.map((run) => ({ run_id: run.id, steps: [5, 10], values: [0.5, 0.9] })),
      more: false,
    }),
    "POST /experiments/3/stop": () => ({ stopping: 4 }),
  });
}

test("the axes are columns, and every run has its row", async () => {
  sweep();
  open("/experiments/3");
  const row = (await screen.findByRole("link", { name: "Run 11" })).closest("tr");
  expect(row).toHaveTextContent(/0\.4.*128.*running.*3 of 10.*91\.00%/);
  expect(screen.getByRole("columnheader", { name: "rate" })).toBeVisible();
  expect(screen.getAllByRole("row")).toHaveLength(5);
});

test("pointing at an axis value lights its curves, pressing it puts them away", async () => {
  sweep();
  open("/experiments/3");
  const entry = await screen.findByRole("button", { name: "0.1", pressed: true });
  await waitFor(() => {
    expect(entry).toBeEnabled();
  });
  await userEvent.hover(entry);
  expect(chartOf("12")?.lit).toEqual(new Set(["12", "13"]));
  await userEvent.click(entry);
  expect(chartOf("12")?.hidden).toEqual(new Set(["12", "13"]));
  expect(entry).toHaveAttribute("aria-pressed", "false");
  await userEvent.click(screen.getByRole("button", { name: "show all" }));
  expect(chartOf("12")?.hidden).toEqual(new Set());
});

test("the arrow keys pick a curve of those in sight, and its value is told", async () => {
  sweep();
  open("/experiments/3");
  const chart = await screen.findByRole("slider");
  await waitFor(() => {
    expect(chart).toHaveAttribute("aria-valuetext", "step 10: 4 curves, up or down picks one");
  });
  await userEvent.click(await screen.findByRole("button", { name: "curve of run 10" }));
  chart.focus();
  await userEvent.keyboard("{ArrowDown}");
  expect(chartOf("11")?.lit).toEqual(new Set(["11"]));
  expect(chart).toHaveAttribute("aria-valuetext", "step 10: Run 11, rate 0.4, batch 128: 90.00% at step 10");
  await userEvent.keyboard("{ArrowLeft}");
  expect(chart).toHaveAttribute("aria-valuetext", "step 5: Run 11, rate 0.4, batch 128: 50.00% at step 5");
  await userEvent.keyboard("{ArrowUp}");
  expect(chartOf("11")?.lit).toEqual(new Set(["13"]));
  await userEvent.tab();
  expect(chartOf("11")?.lit).not.toEqual(new Set(["13"]));
});

test("a curve that is alone in sight is read without being picked, also by epoch", async () => {
  sweep();
  open("/experiments/3");
  const chart = await screen.findByRole("slider");
  for (const run of [10, 11, 13])
    await userEvent.click(await screen.findByRole("button", { name: `curve of run ${run}` }));
  await waitFor(() => {
    expect(chart).toHaveAttribute("aria-valuetext", expect.stringMatching(/^step 10: Run 12, .*: 90.00%/));
  });
  await userEvent.click(screen.getByRole("switch", { name: "by epoch" }));
  // ten steps are two epochs
  expect(chart).toHaveAttribute("aria-valuetext", expect.stringMatching(/^epoch 2: .* at epoch 2$/));
  expect(screen.getByText("epoch")).toBeVisible();
});

test("another series is asked for when it is chosen, and only what is new after that", async () => {
  const service = sweep();
  open("/experiments/3");
  await userEvent.click(await screen.findByRole("radio", { name: "Training loss" }));
  await waitFor(() => {
    expect(service.asked).toContain("GET /experiments/3/points?name=loss");
  });
  const more = "GET /experiments/3/points?name=loss&after=10:10&after=11:10&after=12:10&after=13:10";
  await waitFor(() => {
    expect(service.asked).toContain(more);
  });
});

test("a column's heading sorts the runs by it", async () => {
  sweep();
  open("/experiments/3");
  await userEvent.click(await screen.findByRole("button", { name: "Held-out accuracy" }));
  const first = screen.getAllByRole("row")[1] as HTMLElement;
  await waitFor(() => {
    expect(within(first).getByRole("link")).toHaveTextContent("Run 13");
  });
});

test("stopping asks first, and nothing is stopped when the answer is no", async () => {
  const service = sweep();
  open("/experiments/3");
  const stop = await screen.findByRole("button", { name: "Stop 4 runs" });
  await userEvent.click(stop);
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Let it train" }));
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(stop).toHaveFocus();
  expect(service.asked).not.toContain("POST /experiments/3/stop");
  await userEvent.click(stop);
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Stop 4 runs" }));
  await waitFor(() => {
    expect(service.asked).toContain("POST /experiments/3/stop");
  });
});

test("an experiment that is not there says so in the service's words", async () => {
  new Service({});
  open("/experiments/99");
  expect(await screen.findByText(/there is no GET \/experiments\/99/i)).toBeVisible();
});

test("how often to save is told with the figures, and where too little was seen, that", async () => {
  const service = sweep();
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
  open("/experiments/3");
  const panel = await screen.findByRole("region", { name: "Checkpoints" });
  expect(panel).toHaveTextContent(
    "Best every 2 min 48 s: saving and repeating then take 2.4% of the time; every 10 min, as it is, 4.5%",
  );
  expect(panel).toHaveTextContent("100 written: training waited 2 s for each, which was whole after 9 s");
  expect(panel).toHaveTextContent("10 interruptions in 20 h of training by 4 runs, one every 2 h");
  expect(panel).toHaveTextContent("400 steps taken again; 1 pause that undid nothing");
  expect(panel).toHaveTextContent(
    "No advice yet: fewer than 3 are too few; more often than every 5 min would not pay",
  );
});
