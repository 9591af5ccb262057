import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { CELL, meshOf, placeRanks } from "@/features/run-page/charts/RankMesh";
import type { RunDetail } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

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
