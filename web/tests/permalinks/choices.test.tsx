import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import type { TableRow } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, aRunDetail, Service } from "../testing/service";

function address(name: string): string[] {
  return new URLSearchParams(window.location.search).getAll(name);
}

let views: number; // in the browser's history

/** Open a page, and remember how many views the back button passes over. */
function open(path: string): void {
  openPage(path);
  views = window.history.length;
}

beforeEach(() => {
  views = 0;
});

function experiment() {
  const runs = [1, 2].map((number) => aRun({ id: 10 + number, number, values: { batch: 64 * number } }));
  const spec = {
    base: { kind: "engine", epochs: 2 },
    axes: { batch: [64, 128] },
    variants: [],
    name: "a grid",
  };
  return new Service({
    "GET /experiments/3": () => anExperiment({ spec: spec as never }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
  });
}

test("the order of an experiment's runs is in the address, and a link asks for that order", async () => {
  experiment();
  open("/experiments/3");
  const table = within(await screen.findByRole("region", { name: "Table of runs" }));
  const heading = await table.findByRole("button", { name: "batch" });
  await userEvent.click(heading);
  expect(address("sort")).toEqual(["batch"]);
  await userEvent.click(heading);
  expect(address("sort")).toEqual(["-batch"]);
  await userEvent.click(heading);
  expect(address("sort")).toEqual([]);
  expect(window.history.length).toBe(views);
});

test("a link of an experiment with an order shows its runs in that order", async () => {
  const service = experiment();
  open("/experiments/3?sort=-batch");
  const heading = await screen.findByRole("columnheader", { name: "batch" });
  expect(heading).toHaveAttribute("aria-sort", "descending");
  const asked = service.requests.filter((each) => each.startsWith("GET /runs/table"));
  expect(asked.every((each) => each.includes("sort=-batch"))).toBe(true);
});

function comparison() {
  const rates = [0.1, 0.1, 0.2, 0.2];
  new Service({
    "GET /runs/comparison": () => ({
      runs: [1, 2, 3, 4],
      spec: [
        { path: "schedule.rate", choices: [0.1, 0.2], places: [0, 0, 1, 1] },
        { path: "seed", choices: [0, 1], places: [0, 1, 0, 1] },
      ],
      code: null,
      environment: [],
      environment_note: null,
      metrics: [],
    }),
    "GET /runs/table": (url) => {
      const names = url.searchParams.getAll("column");
      const rows = rates.map((rate, at): TableRow => ({
        ...aRun({ id: at + 1, state: "done" }),
        cells: names.map((name) => (name === "schedule.rate" ? rate : null)),
      }));
      return {
        total: 4,
        offset: 0,
        columns: names.map((name) => ({ name, kind: "any", metric: null })),
        rows,
      };
    },
  });
}

test("the hidden groups of a comparison are in the address, and another grouping shows all of its groups", async () => {
  comparison();
  open("/compare?runs=1,2,3,4&panel=");
  const legend = within(await screen.findByRole("list", { name: "Legend" }));
  await userEvent.click(legend.getByRole("button", { name: /rate 0.2/ }));
  await userEvent.click(legend.getByRole("button", { name: /rate 0.1/ }));
  expect(address("hidden")).toEqual(["[0.2]", "[0.1]"]);
  await userEvent.click(legend.getByRole("button", { name: /rate 0.2/ }));
  expect(address("hidden")).toEqual(["[0.1]"]);
  await userEvent.click(screen.getByRole("button", { name: "Do not group by schedule.rate" }));
  expect(address("hidden")).toEqual([]);
  await userEvent.click(await legend.findByRole("button", { name: /^Run 3/ }));
  expect(address("hidden")).toEqual(["3"]);
  await userEvent.click(legend.getByRole("button", { name: "show all" }));
  expect(address("hidden")).toEqual([]);
  expect(window.history.length).toBe(views);
});

test("a link of a comparison hides its groups, and passes over a group that is not there", async () => {
  comparison();
  open(`/compare?runs=1,2,3,4&panel=&hidden=${encodeURIComponent("[0.1]")}&hidden=gone`);
  const legend = within(await screen.findByRole("list", { name: "Legend" }));
  expect(legend.getByRole("button", { name: /rate 0.1/ })).toHaveAttribute("aria-pressed", "false");
  expect(legend.getByRole("button", { name: /rate 0.2/ })).toHaveAttribute("aria-pressed", "true");
  await userEvent.click(legend.getByRole("button", { name: /rate 0.1/ }));
  expect(legend.queryByRole("button", { name: "show all" })).toBeNull();
});

function run() {
  return new Service({
    "GET /runs/7": () => aRunDetail({ state: "done" }),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "3: step 1\n", offset: 0, next: 10, size: 10, names_ranks: true }),
    "GET /experiments/3": () => anExperiment(),
  });
}

test("the rank, the level and the text of a log are in the address", async () => {
  run();
  open("/runs/7");
  const log = within(await screen.findByRole("region", { name: "Log" }));
  await userEvent.selectOptions(log.getByRole("combobox", { name: "Rank" }), "3");
  await userEvent.selectOptions(log.getByRole("combobox", { name: "Level" }), "errors");
  await userEvent.type(log.getByRole("searchbox"), "out of");
  expect([address("rank"), address("level"), address("search")]).toEqual([["3"], ["error"], ["out of"]]);
  await userEvent.selectOptions(log.getByRole("combobox", { name: "Rank" }), "all");
  expect(address("rank")).toEqual([]);
  expect(window.history.length).toBe(views);
});

test("a link of a run asks for its lines of the log at once, and not for a rank that the run does not have", async () => {
  const service = run();
  const asked = () => service.requests.filter((each) => each.startsWith("GET /runs/7/log"));
  open("/runs/7?rank=3&level=error&search=oom");
  const log = within(await screen.findByRole("region", { name: "Log" }));
  expect(log.getByRole("combobox", { name: "Rank" })).toHaveValue("3");
  expect(log.getByRole("combobox", { name: "Level" })).toHaveValue("error");
  expect(log.getByRole("searchbox")).toHaveValue("oom");
  await waitFor(() => {
    expect(asked()[0]).toBe("GET /runs/7/log?rank=3&level=error&search=oom");
  });
});

test("a rank and a level of the address that the run does not have are left out", async () => {
  const service = run();
  open("/runs/7?rank=8&level=loud");
  const log = within(await screen.findByRole("region", { name: "Log" }));
  expect(log.getByRole("combobox", { name: "Rank" })).toHaveValue("");
  await log.findByText(/3: step 1/);
  expect(service.requests).toContain("GET /runs/7/log?offset=-65536&limit=65536");
});

function collectives() {
  const price = (kind: string) => ({
    ...{ collective: { kind, timeout_s: 300 }, rounds: 2, segments: 1, link_bytes: 1 },
    ...{ seconds: 1, times_bound: 1 },
  });
  const send = { src: [0, 1], dst: [1, 0], start: [1, 0], size: [1, 1], add: [true, true] };
  new Service({
    "GET /collectives/price": () => ({
      ...{ operation: "all_reduce", world: 2, bound_s: 1, auto: [] },
      prices: [price("ring"), price("tree")],
    }),
    "GET /collectives/plan": (url) => ({
      collective: { kind: url.searchParams.get("kind"), timeout_s: 300 },
      ...{ operation: "all_reduce", hosts: [[0], [1]], chunks: 2, rounds: [send, send] },
    }),
    "GET /clusters": () => [],
  });
}

test("the round at which a plan is paused is in the address; another plan begins before its first round", async () => {
  collectives();
  open("/collectives?hosts=2&ranks_per_host=1");
  await screen.findByText(/Before the first round/);
  await userEvent.click(screen.getByRole("button", { name: "Next" }));
  expect(address("round")).toEqual(["1"]);
  await userEvent.click(screen.getByRole("button", { name: "First" }));
  expect(address("round")).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Play" }));
  expect(await screen.findByText(/^Round 1 of 2/)).toBeVisible();
  expect(address("round")).toEqual([]); // not while it plays
  await userEvent.click(screen.getByRole("button", { name: "Pause" }));
  expect(address("round")).toEqual(["1"]);
  await userEvent.click(screen.getByRole("button", { name: "Play" }));
  expect(await screen.findByText(/^Round 2 of 2/)).toBeVisible();
  expect(address("round")).toEqual(["2"]); // where it has stopped
  await userEvent.click(screen.getByRole("button", { name: "Binomial tree" }));
  expect(await screen.findByText(/Before the first round/)).toBeVisible();
  expect(address("round")).toEqual([]);
  expect(window.history.length).toBe(views);
});

test("a link of a plan shows its round, and a round beyond the last one is the last one", async () => {
  collectives();
  open("/collectives?hosts=2&ranks_per_host=1&show=tree&round=99");
  expect(await screen.findByText(/^Round 2 of 2/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Back" }));
  expect(await screen.findByText(/^Round 1 of 2/)).toBeVisible();
  expect(address("round")).toEqual(["1"]);
});

test("another operation, or another number of hosts, leaves the round behind; another size does not", async () => {
  collectives();
  open("/collectives?hosts=2&ranks_per_host=1&round=1");
  await screen.findByText(/^Round 1 of 2/);
  const change = async (label: string, value: string) => {
    const field = screen.getByRole("textbox", { name: new RegExp(`^${label}`) });
    await userEvent.clear(field);
    await userEvent.type(field, value);
  };
  await change("Vector", "5");
  expect(address("round")).toEqual(["1"]);
  await change("Hosts", "3");
  expect(address("round")).toEqual([]);
  window.history.replaceState(null, "", "/collectives?hosts=2&ranks_per_host=1&round=1");
  await userEvent.click(screen.getByRole("radio", { name: "All-gather" }));
  expect(address("round")).toEqual([]);
});
