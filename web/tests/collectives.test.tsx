import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { layoutHosts, messagePath } from "@/features/collectives/plan/layout";
import { type Operation, promisedChunks } from "@/features/collectives/operations";
import { roundText } from "@/features/collectives/plan/PlanPlayer";
import { chunkShares, averageShares } from "@/features/collectives/plan/chunkShares";
import { formatBytes, formatSeconds } from "@/shared/format/number";
import type { PlanView, PriceView } from "@/shared/api/types";
import { openPage } from "./testing/openPage";
import { Service } from "./testing/service";

/** Two ranks on two hosts exchange halves, then each sends its sum to the other. */
const PAIR: PlanView = {
  collective: { kind: "ring", timeout_s: 300 },
  operation: "all_reduce",
  hosts: [[0], [1]],
  chunks: 2,
  rounds: [
    { src: [0, 1], dst: [1, 0], start: [1, 0], size: [1, 1], add: [true, true] },
    { src: [0, 1], dst: [1, 0], start: [0, 1], size: [1, 1], add: [false, false] },
  ],
};

const [SUM, COPY] = [PAIR.rounds[0], PAIR.rounds[1]] as [PlanView["rounds"][0], PlanView["rounds"][0]];
const ALL = { src: [0], dst: [1], start: [0], size: [2] };
const PLANS: Partial<Record<Operation, PlanView>> = {
  all_gather: { ...PAIR, operation: "all_gather", rounds: [COPY] },
  reduce_scatter: { ...PAIR, operation: "reduce_scatter", rounds: [SUM] },
  broadcast: { ...PAIR, operation: "broadcast", rounds: [{ ...ALL, add: [false] }] },
  reduce: { ...PAIR, operation: "reduce", rounds: [{ ...ALL, src: [1], dst: [0], add: [true] }] },
};

function aPlan(operation: Operation): PlanView {
  const plan = PLANS[operation];
  if (!plan) throw new Error(operation);
  return plan;
}

function aPrice(collective: PriceView["collective"], seconds: number): PriceView {
  return { collective, rounds: 2, segments: 1, link_bytes: 1e8, seconds, times_bound: seconds / 0.08 };
}

function service(
  prices = [
    aPrice({ kind: "torus", rows: 2, timeout_s: 300 }, 0.08),
    aPrice({ kind: "ring", timeout_s: 300 }, 0.14),
  ],
) {
  return new Service({
    "GET /collectives/price": (url) => ({
      operation: url.searchParams.get("operation"),
      world: Number(url.searchParams.get("hosts")) * Number(url.searchParams.get("ranks_per_host")),
      bound_s: 0.08,
      prices,
      auto: [
        { from_bytes: 0, collective: { kind: "tree", timeout_s: 300 } },
        { from_bytes: 65536, collective: { kind: "torus", rows: 2, timeout_s: 300 } },
      ],
    }),
    "GET /collectives/plan": (url) => ({
      ...(PLANS[url.searchParams.get("operation") as Operation] ?? PAIR),
      collective: { kind: url.searchParams.get("kind") },
    }),
    "GET /clusters": () => [],
  });
}

test("the page shows the choices of auto, size by size", async () => {
  service();
  openPage("/collectives");
  const choices = await screen.findByText(/would take/);
  expect(choices).toHaveTextContent("Binomial tree below 65.5 kB; 2D torus, 2 rows from 65.5 kB.");
});

test("the bar of a price grows with its factor, up to the whole width", async () => {
  service();
  openPage("/collectives");
  const table = await screen.findByRole("region", { name: "Prices" });
  const shares = [...table.querySelectorAll("i")].map((bar) => Number(bar.style.getPropertyValue("--share")));
  expect(shares).toEqual([0.08 / 0.14, 1].map((share) => expect.closeTo(share) as number));
});

test("the shares of ranks grow from their own part to the complete sum", () => {
  expect(chunkShares(PAIR, 0)).toEqual([
    [0.5, 0.5],
    [0.5, 0.5],
  ]);
  expect(chunkShares(PAIR, 1)).toEqual([
    [1, 0.5],
    [0.5, 1],
  ]);
  expect(chunkShares(PAIR, 2)).toEqual([
    [1, 1],
    [1, 1],
  ]);
  expect(averageShares([0, 1, 1, 1], 2)).toEqual([0.5, 1]);
});

test("hosts form nearly a square, with at most eight ranks in a row", () => {
  const hosts = (count: number, ranks: number) =>
    Array.from({ length: count }, (_, h) => Array.from({ length: ranks }, (_, r) => h * ranks + r));
  const { ranks, hosts: boxes } = layoutHosts(hosts(16, 1));
  expect(new Set(boxes.map((box) => box.x)).size).toBe(4);
  expect(new Set([...layoutHosts(hosts(2, 4)).ranks.values()].map(({ y }) => y)).size).toBe(2);
  expect(new Set([...layoutHosts(hosts(1, 64)).ranks.values()].map(({ x }) => x)).size).toBe(8);
  expect(ranks.get(5)?.host).toBe(5);
  expect(messagePath({ x: 0, y: 0 }, { x: 58, y: 0 })).not.toBe(messagePath({ x: 58, y: 0 }, { x: 0, y: 0 }));
});

test("quantities have three digits and a unit", () => {
  expect([formatBytes(1.5625e6), formatBytes(0), formatBytes(2.5e9)]).toEqual(["1.56 MB", "0 B", "2.5 GB"]);
  expect([formatSeconds(0.1201), formatSeconds(3.2e-6), formatSeconds(42_664)]).toEqual([
    "120 ms",
    "3.2 µs",
    "42,664 s",
  ]);
});

test("the diagram shows the cheapest collective, and another one after a click; the address stores the choice", async () => {
  const requests = service().requests;
  openPage("/collectives?hosts=2&ranks_per_host=4");
  expect(await screen.findByRole("heading", { name: "2D torus" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Ring" }));
  expect(await screen.findByRole("heading", { name: "Ring" })).toBeVisible();
  expect(screen.getByRole("button", { name: "Ring" })).toHaveAttribute("aria-pressed", "true");
  expect(window.location.search).toContain("show=ring");
  expect(requests.some((request) => request.includes("/plan?kind=ring"))).toBe(true);
});

test("buttons, slider and keys move through the rounds, and a text describes each round", async () => {
  service();
  openPage("/collectives?hosts=2&ranks_per_host=1");
  expect(await screen.findByText(/Before the first round/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Next" }));
  expect(
    screen.getByText(/^Round 1 of 2: 2 messages of 50 MB, all between hosts; the receiver adds/),
  ).toBeVisible();
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getByText(/the receiver copies the data. Every rank has the complete sum/)).toBeVisible();
  expect(screen.getByRole("slider", { name: "Round" })).toHaveValue("2");
  await userEvent.keyboard("{Home}");
  expect(screen.getByText(/Before the first round/)).toBeVisible();
});

test("the playback stops after the last round", async () => {
  service();
  openPage("/collectives?hosts=2&ranks_per_host=1");
  await screen.findByText(/Before the first round/);
  await userEvent.keyboard(" ");
  expect(screen.getByRole("button", { name: "Pause" })).toBeVisible();
  expect(await screen.findByText(/^Round 2 of 2/)).toBeVisible();
  expect(screen.getByRole("button", { name: "Play" })).toBeVisible();
});

test("a valid change requests new prices; an invalid value is marked and not requested", async () => {
  const requests = service().requests;
  openPage("/collectives");
  await screen.findByRole("heading", { name: "2D torus" });
  const form = within(screen.getByRole("form", { name: "Network" }));
  const hosts = form.getByRole("textbox", { name: "Hosts" });
  await userEvent.clear(hosts);
  expect(hosts).toHaveAttribute("aria-invalid", "true");
  await userEvent.type(hosts, "2");
  await waitFor(() => {
    expect(requests.some((request) => request.includes("/price?hosts=2&"))).toBe(true);
  });
  expect(requests.some((request) => request.includes("hosts=0"))).toBe(false);
});

test("more than 64 ranks have prices and no diagram", async () => {
  service();
  openPage("/collectives?hosts=100&ranks_per_host=8");
  expect(await screen.findByText("The diagram shows at most 64 ranks.")).toBeVisible();
  expect(screen.getByText(/on 800 ranks/)).toBeVisible();
});

test("an all-gather and a broadcast begin with the owners' chunks and end with all of them", () => {
  const states = (operation: Operation) => [0, 1].map((at) => chunkShares(aPlan(operation), at));
  const everything = [
    [1, 1],
    [1, 1],
  ];
  expect(states("all_gather")).toEqual([
    [
      [1, 0],
      [0, 1],
    ],
    everything,
  ]);
  expect(states("broadcast")).toEqual([
    [
      [1, 1],
      [0, 0],
    ],
    everything,
  ]);
});

test("a reduce-scatter promises each rank its own block, a reduce the vector to the first rank", () => {
  expect(chunkShares(aPlan("reduce_scatter"), 1)).toEqual([
    [1, 0.5],
    [0.5, 1],
  ]);
  expect([0, 1].map((rank) => promisedChunks(aPlan("reduce_scatter"), rank))).toEqual([
    [0, 1],
    [1, 2],
  ]);
  expect([0, 1].map((rank) => promisedChunks(aPlan("reduce"), rank))).toEqual([
    [0, 2],
    [0, 0],
  ]);
  expect(chunkShares(aPlan("reduce"), 1)[0]).toEqual([1, 1]);
  expect(roundText({ ...PAIR, operation: "all_gather", rounds: [] }, 0, 1)).toBe(
    "A single rank has all blocks from the start.",
  );
});

test("each operation has its prices and its plan, and the address stores the choice", async () => {
  const { requests } = service([aPrice({ kind: "halving_doubling", timeout_s: 300 }, 0.08)]);
  openPage("/collectives?hosts=2&ranks_per_host=1");
  await screen.findByRole("heading", { name: "Halving and doubling" });
  await userEvent.click(screen.getByRole("radio", { name: "All-gather" }));
  expect(await screen.findByRole("heading", { name: "Recursive doubling" })).toBeVisible();
  expect(window.location.search).toContain("operation=all_gather");
  expect(screen.getByText(/no all-gather takes less than 80 ms/)).toBeVisible();
  expect(screen.getByText("block that is there")).toBeVisible();
  expect(screen.queryByText("part of the sum")).toBeNull();
  expect(screen.getByText("Before the first round: each rank holds its own block.")).toBeVisible();
  expect(screen.queryAllByTestId("complete-rank")).toHaveLength(0);
  await userEvent.click(screen.getByRole("button", { name: "Last" }));
  expect(screen.getByText(/copies the data. Every rank has the blocks of all ranks.$/)).toBeVisible();
  expect(screen.getAllByTestId("complete-rank")).toHaveLength(2);
  expect(requests.some((request) => /\/price\?.*operation=all_gather/.test(request))).toBe(true);
  expect(requests.some((request) => /\/plan\?.*operation=all_gather/.test(request))).toBe(true);
});

test("a link leads to a reduce-scatter, whose ranks are complete with their own blocks", async () => {
  service();
  openPage("/collectives?hosts=2&ranks_per_host=1&operation=reduce_scatter&show=ring");
  expect(await screen.findByRole("heading", { name: "Ring" })).toBeVisible();
  expect(screen.getByRole("radio", { name: "Reduce-scatter" })).toBeChecked();
  await userEvent.click(screen.getByRole("button", { name: "Last" }));
  expect(screen.getByText(/adds the data. Every rank has the complete sum of its own block.$/)).toBeVisible();
  expect(screen.getAllByTestId("complete-rank")).toHaveLength(2);
});

test("an unknown operation in the address is the all-reduce", async () => {
  const { requests } = service();
  openPage("/collectives?operation=constructor");
  expect(await screen.findByRole("heading", { name: "2D torus" })).toBeVisible();
  expect(requests.some((request) => request.includes("operation=constructor"))).toBe(false);
});
