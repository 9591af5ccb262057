import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { ProgramSpec, RunDetail } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRun, aRunDetail, Service } from "../testing/service";

function column(values: number[]) {
  return { steps: values.map((_, index) => index + 1), values };
}

const SERIES = {
  epoch_time: column([9, 8, 7]),
  "val/accuracy": column([0.1, 0.2, 0.3]),
  "train loss": column([2, 1.5, 1.25]),
  "train loss/rank-1": column([2.1, 1.6, 1.35]),
};
const LATEST = { epoch_time: 7, "val/accuracy": 0.3, "train loss": 1.25, "train loss/rank-1": 1.35 };

function program(change: Partial<RunDetail> = {}, spec: Partial<ProgramSpec> = {}) {
  const run = { latest: LATEST, values: { "parameters.lr": 0.1 }, steps: 0, step: 1200, ...change };
  return new Service({
    "GET /runs/7": () => aRunDetail({ spec: aProgram(spec), ...run }),
    "GET /runs/7/curves": () => bucketedSeries(SERIES),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/checkpoints": () => [{ world: 8, saves: 3, interruptions: 2, paused: 0 }],
  });
}

test("the program panel shows the filled command, the launcher, the folder, the environment and the parameters", async () => {
  program(
    {},
    {
      environment: {
        modules: ["cuda/12.4"],
        venv: "/venvs/torch",
        setup: ["ulimit -n 4096"],
        variables: { A: "b c" },
      },
    },
  );
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Program" });
  expect(within(panel).getByLabelText("Command")).toHaveTextContent(
    "python train.py --lr 0.1 --name 'a b' --out /runs/000007-ab {again} {unknown}",
  );
  expect(panel).toHaveTextContent("torchrun, 8 ranks on 2 nodes");
  expect(panel).toHaveTextContent("/home/ann/project");
  expect(panel).toHaveTextContent("venv /venvs/torch");
  expect(panel).toHaveTextContent("modules cuda/12.4");
  expect(panel).toHaveTextContent("1 variableA=b c");
  expect(panel).toHaveTextContent("1 setup lineulimit -n 4096");
  const rows = within(within(panel).getByRole("table", { name: "Parameters" })).getAllByRole("row");
  expect(rows.map((row) => row.textContent)).toEqual(["ParameterValue", "lr0.1", "namea b", "net.depth3"]);
});

test("a local run has no srun", async () => {
  program({ world: 1 }, { launcher: "srun", resources: { kind: "local", ranks_per_node: 1 } });
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Program" });
  expect(panel).toHaveTextContent("Launcher1 rank on this machine");
  expect(panel).not.toHaveTextContent("srun");
});

test("a list is shown as a line for a shell, and a snapshot by the start of its hash", async () => {
  program(
    {},
    {
      command: ["python", "train.py", "--name", "{name}"],
      code: "5e88".repeat(16),
      subfolder: "lars",
      working_folder: null,
    },
  );
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Program" });
  expect(within(panel).getByLabelText("Command")).toHaveTextContent("python train.py --name 'a b'");
  expect(panel).toHaveTextContent("code snapshot 5e885e885e88, in lars");
});

test("a program shows its own newest values, measures of quality first, and no parts of the engine", async () => {
  program();
  openPage("/runs/7");
  const metrics = await screen.findByRole("region", { name: "Metrics" });
  const names = within(metrics)
    .getAllByRole("term")
    .map((term) => term.textContent);
  expect(names).toEqual(["Steps", "val/accuracy", "train loss", "epoch_time", "Time"]);
  expect(metrics).toHaveTextContent("train loss1.250");
  expect(metrics).not.toHaveTextContent(/Epochs|Held-out|Samples/);
  expect(screen.queryByRole("region", { name: "Checkpoints" })).toBeNull();
});

test("a program of an unknown number of steps shows the steps taken, not a share", async () => {
  program();
  openPage("/runs/7");
  const bar = await screen.findByRole("progressbar", { name: "steps taken" });
  expect(bar).not.toHaveAttribute("aria-valuenow");
  expect(bar).toHaveAttribute("aria-valuetext", "1,200 steps of an unknown number");
  expect(document.title).toBe("step 1,200 · Run 7 · Bigbatch");
  await userEvent.click(screen.getByRole("button", { name: "Stop run 7" }));
  expect(screen.getByRole("dialog")).toHaveTextContent("The run has taken 1,200 steps.");
});

test("a program of a known number of steps shows its share", async () => {
  program({ steps: 4800 });
  openPage("/runs/7");
  expect(await screen.findByRole("progressbar", { name: "steps taken" })).toHaveAttribute(
    "aria-valuenow",
    "25",
  );
  expect(document.title).toBe("25% · Run 7 · Bigbatch");
});

test("every series of a program has a chart, and the ranks of a series share one", async () => {
  program();
  openPage("/runs/7");
  await waitFor(() => {
    expect(chartOf("train loss")?.lines.map((line) => line.key)).toEqual([
      "train loss raw",
      "train loss",
      "train loss/rank-1 raw",
      "train loss/rank-1",
    ]);
  });
  const curves = within(screen.getByRole("region", { name: "Curves" }));
  expect(curves.getAllByRole("heading").map((heading) => heading.textContent)).toEqual([
    "train loss",
    "epoch_time",
    "▾ val/ 1 chart",
    "val/accuracy",
  ]);
  expect(curves.getByRole("region", { name: "train loss" })).toHaveTextContent("rank 1 1.350");
});

test("a series of many ranks shows the range of its values instead of each", async () => {
  const service = program();
  const ranks = Object.fromEntries(
    Array.from({ length: 8 }, (_, rank) => [`x/rank-${rank + 1}`, column([1, rank])]),
  );
  service.answers["GET /runs/7/curves"] = () => bucketedSeries({ x: column([1, 9]), ...ranks });
  openPage("/runs/7");
  expect(await screen.findByText("9 ranks: 0.000 to 9.000")).toBeVisible();
});

test("the page of programs has columns and tabs of what they report, and the first curve is the best known one", async () => {
  const runs = [0.1, 0.2].map((lr, number) =>
    aRun({
      id: 10 + number,
      number,
      steps: 0,
      step: 5 + number,
      values: { "parameters.lr": lr },
      latest: LATEST,
    }),
  );
  const spec = { base: aProgram(), variants: [], axes: { "parameters.lr": [0.1, 0.2] }, name: "a sweep" };
  const service = new Service({
    "GET /experiments/3": () => anExperiment({ spec: spec as never, objective: null, best: null }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": () => ({ name: "", curves: [] }),
    "GET /experiments/3/checkpoints": () => [{ world: 8, saves: 3, interruptions: 2, paused: 0 }],
  });
  openPage("/experiments/3?tab=curves");
  await screen.findByRole("link", { name: "Run 10" });
  expect(screen.getAllByRole("columnheader").map((heading) => heading.textContent)).toEqual([
    "run",
    "lr",
    "State",
    "Progress",
    "val/accuracy",
    "train loss",
    "epoch_time",
  ]);
  expect(screen.getAllByRole("row")[1]).toHaveTextContent("Run 100.1running50.30001.2507.000");
  const tabs = within(screen.getByRole("group", { name: "Series" })).getAllByRole("radio");
  expect(tabs).toHaveLength(3);
  expect(
    within(screen.getByRole("group", { name: "Series" })).getByRole("radio", { name: "val/accuracy" }),
  ).toBeChecked();
  expect(screen.queryByRole("switch", { name: "by epoch" })).toBeNull();
  expect(screen.queryByRole("region", { name: "Checkpoints" })).toBeNull();
  expect(service.requests).toContain("GET /experiments/3/curves?name=val/accuracy&buckets=1100");
  expect(
    screen.getByText("python train.py --lr {lr} --name {name} --out {run_folder} {{again}} {unknown}"),
  ).toBeVisible();
});

test("the stacks of the ranks are open after a stall, and asked for on a click otherwise", async () => {
  const failure = {
    kind: "collective_timeout",
    rank: 1,
    falls: [],
    reason: "",
    evidence: "",
    source: "rank 1",
  };
  const stalled = { failure, state: "failed" } as unknown as Partial<RunDetail>;
  const ranks = [0, 1].map((rank) => ({
    rank,
    written_at: 1_795_420_800,
    text: `File "train.py", line ${rank}`,
  }));
  for (const change of [stalled, {}]) {
    const service = program(change);
    service.answers["GET /runs/7/stacks"] = () => ({ attempt: 2, ranks, next: null });
    const { unmount } = openPage("/runs/7");
    const panel = await screen.findByRole("region", { name: "Stacks" });
    if (change !== stalled) {
      expect(service.requests.filter((request) => request.includes("stacks"))).toEqual([]);
      await userEvent.click(within(panel).getByRole("button", { name: /Stacks of the ranks/ }));
    }
    expect(await within(panel).findByLabelText("Stacks of rank 1")).toHaveTextContent(
      'File "train.py", line 1',
    );
    expect(panel).toHaveTextContent("of attempt 2");
    unmount();
  }
});

test.each([
  ["srun", 1, "1 rank on this machine"],
  ["torchrun", 4, "torchrun, 4 ranks on this machine"],
  ["plain", 1, "plain, 1 process on this machine"],
] as const)(
  "a program of launcher %s on this machine is not said to run by Slurm",
  async (launcher, world, text) => {
    const resources = { kind: "local", ranks_per_node: world } as ProgramSpec["resources"];
    program({ world }, { launcher, resources });
    openPage("/runs/7");
    const panel = await screen.findByRole("region", { name: "Program" });
    expect(panel).toHaveTextContent(`Launcher${text}Folder`);
  },
);
