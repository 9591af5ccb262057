import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { CELL, meshOf, placeRanks } from "@/features/run-page/charts/RankMesh";
import { nearRange, sharesOf, slowestRank, splitTime } from "@/features/run-page/charts/timeSplit";
import type { RankTimes, RunDetail } from "@/shared/api/types";
import { bucketedSeries, curve, seriesOf } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

test("the reported parts share the time", () => {
  const split = splitTime(
    seriesOf({
      compute_s: curve(2, 0.5),
      update_s: curve(1, 0.5),
      communication_s: curve(1, 1),
      input_s: curve(0, 0),
      idle_s: curve(1, 3),
    }),
  );
  expect(split?.parts.map((part) => part.title)).toEqual([
    "Compute",
    "Update",
    "Communication",
    "Input",
    "Idle",
  ]);
  expect(split?.whole).toEqual([1.25, 0.75, 1, 0, 2]);
  expect(sharesOf(split?.whole ?? [])).toEqual([0.25, 0.15, 0.2, 0, 0.4]);
  expect(split?.steps).toBe(2);
  expect(split?.stack.ys.at(-1)).toEqual([5, 5]);
});

test("the cost of K-FAC is a part of its own, and the sum stays the time of a step", () => {
  const split = splitTime(
    seriesOf({
      compute_s: curve(4, 2),
      update_s: curve(3, 1),
      communication_s: curve(1, 1),
      factors_s: curve(1, 0),
      inverses_s: curve(1.5, 0),
      precondition_s: curve(0.5, 0.5),
    }),
  );
  expect(split?.parts.map((part) => part.title)).toEqual(["Compute", "Update", "K-FAC", "Communication"]);
  expect(split?.means.ys).toEqual([
    [3, 2],
    [1, 0.5],
    [3, 0.5],
    [1, 1],
  ]);
  expect(split?.stack.ys.at(-1)).toEqual([8, 4]);
  expect(sharesOf(split?.whole ?? [])).toEqual([5 / 12, 1.5 / 12, 3.5 / 12, 2 / 12]);
});

test("a run without update and idle time has three parts, a run without values has no split", () => {
  const before = { compute_s: curve(1), communication_s: curve(1), input_s: curve(0) };
  expect(splitTime(seriesOf(before))?.parts).toHaveLength(3);
  expect(splitTime(seriesOf({}))).toBeNull();
});

test("the slowest rank is the slowest one most often", () => {
  const series = { slowest_rank: curve(2, 0, 2, null), idle_s: curve(0.1, 0.1, 0.1, null) };
  expect(slowestRank(seriesOf(series))).toEqual({ rank: 2, share: 2 / 3 });
  expect(slowestRank(seriesOf({ slowest_rank: curve(0, 0), idle_s: curve(0, 0) }))).toBeNull();
});

test("one slow step does not flatten the others, and is named with its time", () => {
  const split = splitTime(seriesOf({ compute_s: curve(3, 0.01, 0.012, 0.011, 0.01, 0.012) }));
  if (!split) throw new Error("no split");
  expect(nearRange(split)).toEqual({ low: 0, high: 0.012, cut: 1, most: 3, at: 1 });
  const even = splitTime(seriesOf({ compute_s: curve(0.01, 0.01, 0.011, 0.01) }));
  expect(even && nearRange(even)).toBeNull();
});

test("the keyboard reads the times of each rank, and begins with the slowest one", async () => {
  const times: RankTimes = {
    ...{ attempt: 1, first_step: 100, last_step: 200 },
    ranks: [0.02, 0.05, 0.03].map((compute_s, rank) => ({
      rank,
      seconds: { compute_s, idle_s: 0.05 - compute_s },
    })),
  };
  new Service({
    "GET /runs/7": () => aRunDetail({ world: 3 }),
    "GET /runs/7/curves": () => bucketedSeries({ compute_s: { steps: [1, 2], values: [0.02, 0.02] } }),
    "GET /runs/7/ranks": () => times,
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  const bars = await screen.findByRole("slider", { name: /^Time of a step on each of 3 ranks/ });
  expect(bars).toHaveAttribute("aria-valuetext", "rank 1: compute 50 ms, idle 0 ms");
  bars.focus();
  const reads = async (keys: string, text: string) => {
    await userEvent.keyboard(keys);
    expect(bars).toHaveAttribute("aria-valuetext", text);
  };
  await reads("{ArrowRight}", "rank 2: compute 30 ms, idle 20 ms");
  await reads("{ArrowRight}", "rank 2: compute 30 ms, idle 20 ms"); // the last one
  expect(screen.getByText("compute 30 ms, idle 20 ms")).toBeVisible();
  await reads("{Home}", "rank 0: compute 20 ms, idle 30 ms");
  expect(bars).toHaveAttribute("aria-valuenow", "0");
  await reads("{ArrowRight}", "rank 1: compute 50 ms, idle 0 ms");
  await reads("{End}{ArrowLeft}{ArrowLeft}", "rank 0: compute 20 ms, idle 30 ms");
  await reads("{Escape}", "rank 1: compute 50 ms, idle 0 ms");
  await userEvent.keyboard("{Home}");
  fireEvent.blur(bars);
  expect(bars).toHaveAttribute("aria-valuetext", "rank 1: compute 50 ms, idle 0 ms");
});

type EngineSpec = Extract<RunDetail["spec"], { kind: "engine" }>;

function openRun(world: number, tensor: EngineSpec["tensor"]) {
  const spec = aRunDetail().spec as EngineSpec;
  const times = { compute_s: { steps: [1, 2], values: [0.1, 0.1] } };
  new Service({
    "GET /runs/7": () => aRunDetail({ world, spec: { ...spec, tensor } }),
    "GET /runs/7/curves": () => bucketedSeries(times),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
}

test("a run on cubes draws every replica with its ranks and their coordinates", async () => {
  openRun(16, { kind: "three_d", q: 2, save_gathered: false });
  expect(await screen.findByText("2 replicas of 2 × 2 × 2 = 8 ranks")).toBeInTheDocument();
  expect(screen.getAllByTestId("mesh")).toHaveLength(2);
  expect(screen.getByRole("img", { name: "Replica 1: ranks 8 to 15" })).toHaveTextContent(
    "rank 14: i = 1, j = 1, l = 0",
  );
});

test("a page has eight replicas at most and counts the others", async () => {
  openRun(24, { kind: "one_d", ranks: 2 });
  expect(await screen.findByText("and 4 more replicas")).toBeInTheDocument();
  expect(screen.getAllByTestId("mesh")).toHaveLength(8);
});

test("a run whose ranks have whole replicas draws no mesh", async () => {
  openRun(2, null);
  await screen.findByRole("heading", { name: "Time of a step" });
  expect(screen.queryByText("Mesh of the ranks")).toBeNull();
});

test("the layers of a cube stand next to each other, and no two ranks share a place", () => {
  const mesh = meshOf({ kind: "three_d", q: 3, save_gathered: false });
  const { ranks, width, height } = placeRanks(mesh);
  expect(new Set(ranks.map(({ x, y }) => `${x} ${y}`)).size).toBe(27);
  expect(ranks[9]).toEqual({ x: 0, y: CELL });
  expect(ranks[1]?.x).toBeGreaterThan(ranks[6]?.x ?? 0);
  for (const { x, y } of ranks) expect(x + CELL <= width && y + CELL <= height).toBe(true);
});

test("a line has its ranks in one row, a square in q rows", () => {
  expect(placeRanks(meshOf({ kind: "one_d", ranks: 4 })).ranks.map(({ y }) => y)).toEqual([0, 0, 0, 0]);
  expect(placeRanks(meshOf({ kind: "two_d", q: 2 })).ranks).toEqual([
    { x: 0, y: 0 },
    { x: CELL, y: 0 },
    { x: 0, y: CELL },
    { x: CELL, y: CELL },
  ]);
});
