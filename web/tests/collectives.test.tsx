import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { scene, way } from "@/features/collectives/plan/layout";
import { holdings, strips } from "@/features/collectives/plan/chunkShares";
import { bytes, seconds } from "@/shared/format/quantities";
import type { PlanView, PriceView } from "@/shared/api/types";
import { open } from "./openPage";
import { Service } from "./service";

/** Two ranks on two hosts trade halves, then each gives its sum to the other. */
const PAIR: PlanView = {
  collective: { kind: "ring", timeout_s: 300 },
  hosts: [[0], [1]],
  chunks: 2,
  rounds: [
    { src: [0, 1], dst: [1, 0], start: [1, 0], size: [1, 1], add: [true, true] },
    { src: [0, 1], dst: [1, 0], start: [0, 1], size: [1, 1], add: [false, false] },
  ],
};

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
      world: Number(url.searchParams.get("hosts")) * Number(url.searchParams.get("ranks_per_host")),
      bound_s: 0.08,
      prices,
      auto: [
        { from_bytes: 0, collective: { kind: "tree", timeout_s: 300 } },
        { from_bytes: 65536, collective: { kind: "torus", rows: 2, timeout_s: 300 } },
      ],
    }),
    "GET /collectives/plan": (url) => ({ ...PAIR, collective: { kind: url.searchParams.get("kind") } }),
    "GET /clusters": () => [],
  });
}

test("what auto would take is told, size by size", async () => {
  service();
  open("/collectives");
  const told = await screen.findByText(/would take/);
  expect(told).toHaveTextContent("Binomial tree below 65.5 kB; 2D torus, 2 rows from 65.5 kB on.");
});

test("what ranks hold grows from their own part to the whole sum", () => {
  expect(holdings(PAIR, 0)).toEqual([
    [0.5, 0.5],
    [0.5, 0.5],
  ]);
  expect(holdings(PAIR, 1)).toEqual([
    [1, 0.5],
    [0.5, 1],
  ]);
  expect(holdings(PAIR, 2)).toEqual([
    [1, 1],
    [1, 1],
  ]);
  expect(strips([0, 1, 1, 1], 2)).toEqual([0.5, 1]);
});

test("hosts stand as near to a square as they can, at most eight ranks across", () => {
  const hosts = (count: number, ranks: number) =>
    Array.from({ length: count }, (_, h) => Array.from({ length: ranks }, (_, r) => h * ranks + r));
  const { ranks, hosts: boxes } = scene(hosts(16, 1));
  expect(new Set(boxes.map((box) => box.x)).size).toBe(4);
  expect(new Set([...scene(hosts(2, 4)).ranks.values()].map(({ y }) => y)).size).toBe(2);
  expect(new Set([...scene(hosts(1, 64)).ranks.values()].map(({ x }) => x)).size).toBe(8);
  expect(ranks.get(5)?.host).toBe(5);
  expect(way({ x: 0, y: 0 }, { x: 58, y: 0 })).not.toBe(way({ x: 58, y: 0 }, { x: 0, y: 0 }));
});

test("quantities have three digits and a unit", () => {
  expect([bytes(1.5625e6), bytes(0), bytes(2.5e9)]).toEqual(["1.56 MB", "0 B", "2.5 GB"]);
  expect([seconds(0.1201), seconds(3.2e-6), seconds(42_664)]).toEqual(["120 ms", "3.2 µs", "42,664 s"]);
});

test("the cheapest collective is drawn, another one on a click, and the address says which", async () => {
  const asked = service().asked;
  open("/collectives?hosts=2&ranks_per_host=4");
  expect(await screen.findByRole("heading", { name: "2D torus" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Ring" }));
  expect(await screen.findByRole("heading", { name: "Ring" })).toBeVisible();
  expect(screen.getByRole("button", { name: "Ring" })).toHaveAttribute("aria-pressed", "true");
  expect(window.location.search).toContain("show=ring");
  expect(asked.some((ask) => ask.includes("/plan?kind=ring"))).toBe(true);
});

test("rounds pass by button, by slider and by key, and are told in words", async () => {
  service();
  open("/collectives?hosts=2&ranks_per_host=1");
  expect(await screen.findByText(/Before the first round/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "On" }));
  expect(screen.getByText(/^Round 1 of 2: 2 messages of 50 MB, all between hosts.*added/)).toBeVisible();
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getByText(/what arrives is kept. Every rank has the whole sum/)).toBeVisible();
  expect(screen.getByRole("slider", { name: "Round" })).toHaveValue("2");
  await userEvent.keyboard("{Home}");
  expect(screen.getByText(/Before the first round/)).toBeVisible();
});

test("it plays to the end by itself and stops there", async () => {
  service();
  open("/collectives?hosts=2&ranks_per_host=1");
  await screen.findByText(/Before the first round/);
  await userEvent.keyboard(" ");
  expect(screen.getByRole("button", { name: "Pause" })).toBeVisible();
  expect(await screen.findByText(/^Round 2 of 2/)).toBeVisible();
  expect(screen.getByRole("button", { name: "Play" })).toBeVisible();
});

test("a changed figure is priced at once; one that cannot be is marked and not asked", async () => {
  const asked = service().asked;
  open("/collectives");
  await screen.findByRole("heading", { name: "2D torus" });
  const form = within(screen.getByRole("form", { name: "Network" }));
  const hosts = form.getByRole("textbox", { name: "Hosts" });
  await userEvent.clear(hosts);
  expect(hosts).toHaveAttribute("aria-invalid", "true");
  await userEvent.type(hosts, "2");
  await waitFor(() => {
    expect(asked.some((ask) => ask.includes("/price?hosts=2&"))).toBe(true);
  });
  expect(asked.some((ask) => ask.includes("hosts=0"))).toBe(false);
});

test("beyond 64 ranks there are prices and no picture", async () => {
  service();
  open("/collectives?hosts=100&ranks_per_host=8");
  expect(await screen.findByText("Up to 64 ranks are drawn.")).toBeVisible();
  expect(screen.getByText(/on 800 ranks/)).toBeVisible();
});
