import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { layOut, pathOf } from "@/features/run-page/ChunkGrid";
import type { ChunkStates, ProgramSpec } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRunDetail, Service } from "../testing/service";

const VOLUME: ProgramSpec["volume"] = {
  operators: [
    { kind: "read", path: "em" },
    { kind: "write", path: "out", format: "raw" },
  ],
  chunk: [8, 8, 8],
  block: null,
  work: null,
  lease_s: 120,
};

function openRun(chunks: ChunkStates | null, volume: ProgramSpec["volume"] = VOLUME): Service {
  const service = new Service({
    "GET /runs/7": () => aRunDetail({ state: "running", spec: aProgram({ volume }) }),
    "GET /runs/7/chunks": () => chunks,
    "GET /runs/7/curves": () => bucketedSeries({}),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  return service;
}

test("a run over a volume shows each chunk by its state", async () => {
  openRun({
    counts: [2, 2, 3],
    states: "ddmlwwddlwww",
    stages: [
      { name: "chunks", done: 5, tasks: 12 },
      { name: "merge", done: 0, tasks: 1 },
      { name: "numbers", done: 0, tasks: 12 },
    ],
    taken_over: 1,
  });
  const panel = await screen.findByRole("region", { name: "Chunks" });
  const picture = await within(panel).findByRole("img");
  expect(picture).toHaveAccessibleName("2 × 2 × 3 chunks: 4 done, 1 labeled, 2 leased, 5 waiting");
  const squares = (name: string) => within(panel).getByTestId(name).getAttribute("d")?.split("z").length;
  expect([squares("done"), squares("labeled"), squares("leased"), squares("waiting")]).toEqual([5, 2, 3, 6]);
  expect(panel).toHaveTextContent("chunks 5 of 12, merge of components 0 of 1, numbers 0 of 12");
  expect(panel).toHaveTextContent("1 lease ended without a result and went to another worker");
});

test("before the first worker the panel says so", async () => {
  openRun(null);
  expect(await screen.findByText("No worker has begun.")).toBeInTheDocument();
});

test("a program without a volume asks for no chunks", async () => {
  const service = openRun(null, null);
  await screen.findByRole("region", { name: "Program" });
  expect(screen.queryByRole("region", { name: "Chunks" })).toBeNull();
  expect(service.requests.filter((request) => request.includes("/chunks"))).toEqual([]);
});

test.each([
  [1, 1, 1],
  [3, 5, 4],
  [200, 3, 2],
  [2, 400, 300],
])("no two of %i x %i x %i chunks share a place, and all are inside the picture", (...counts) => {
  const layout = layOut(counts);
  const total = counts.reduce((product, count) => product * count, 1);
  const places = Array.from({ length: total }, (_, index) => layout.place(index));
  expect(new Set(places.map(({ x, y }) => `${x.toFixed(3)} ${y.toFixed(3)}`)).size).toBe(total);
  const right = places.reduce((most, { x }) => Math.max(most, x), 0);
  const low = places.reduce((most, { y }) => Math.max(most, y), 0);
  expect(right + layout.cell).toBeLessThanOrEqual(layout.width + 1e-6);
  expect(low + layout.cell).toBeLessThanOrEqual(layout.height + 1e-6);
  expect(pathOf("w".repeat(total), "w", layout).split("z").length).toBe(total + 1);
});
