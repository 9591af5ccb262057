import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { openPage } from "./openPage";
import { Service } from "./service";

function aNode(name: string, state: string, busy_cpus: number) {
  return { name, state, busy_cpus, partitions: ["cpu"], cpus: 8, memory_mb: 1024, gres: "", features: [] };
}

test("the head of a cluster explains its cells: nodes in use, idle and down", async () => {
  const nodes = [
    aNode("a", "allocated", 8),
    aNode("b", "idle", 1),
    aNode("c", "idle*", 0),
    aNode("d", "drain", 0),
  ];
  new Service({
    "GET /clusters": () => [
      {
        kind: "slurm",
        asked_at: "2026-01-05T12:00:00Z",
        error: null,
        report: { partitions: [], nodes, queue: [] },
      },
    ],
  });
  openPage("/clusters");
  expect(await screen.findByText("4 nodes: 1 in use, 1 idle, 2 down; 0 jobs")).toBeVisible();
});
