import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { openPage } from "./testing/openPage";
import { Service } from "./testing/service";

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

test("the queue tells the jobs of this service from jobs of others, and links to their runs", async () => {
  const job = { partition: "cpu", user: "ada", state: "RUNNING", nodes: 1, elapsed: "0:10", reason: "a" };
  const queue = [
    { ...job, job_id: "1", name: "train", is_own: false, run_id: null },
    { ...job, job_id: "2", name: "bigbatch-cafe-1", is_own: true, run_id: 42 },
    { ...job, job_id: "3", name: "bigbatch-beef-1", is_own: true, run_id: null },
  ];
  const report = { partitions: [], nodes: [], queue };
  new Service({
    "GET /clusters": () => [{ kind: "local", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const table = within(await screen.findByRole("region", { name: "Queue" }));
  const rows = table.getAllByRole("row").slice(1);
  expect(table.getByRole("link", { name: "run 42" })).toHaveAttribute("href", "/runs/42");
  expect(rows[0]).toHaveTextContent("run 42");
  expect(rows[1]).toHaveTextContent("several runs");
  expect(rows[2]).toHaveTextContent("not of this service");
});

test("a table of thousands of nodes shows the first ones, and more on request", async () => {
  const nodes = Array.from({ length: 400 }, (_, number) => aNode(`n${number}`, "idle", 0));
  const report = { partitions: [], nodes, queue: [] };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const table = await screen.findByRole("region", { name: "Nodes" });
  expect(within(table).getAllByRole("row")).toHaveLength(51);
  expect(screen.getByText("Nodes: 50 of 400")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "200 more" }));
  expect(within(table).getAllByRole("row")).toHaveLength(251);
});
