import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, onTestFinished, test, vi } from "vitest";
import { aPartition, Service } from "./testing/service";
import { openPage } from "./testing/openPage";

function aNode(name: string, state: string, busy_cpus: number) {
  return {
    name,
    state,
    busy_cpus,
    partitions: ["cpu"],
    cpus: 8,
    memory_mb: 1024,
    gres: "",
    features: [],
    jobs: [],
  };
}

test("the head of a cluster explains its cells: nodes in use, idle, drained and down", async () => {
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
  expect(await screen.findByText("4 nodes: 1 in use, 1 idle, 1 drained, 1 down; 0 jobs")).toBeVisible();
});

test("the queue tells the jobs of this service from jobs of others, and links to their runs", async () => {
  const job = {
    partition: "cpu",
    user: "ada",
    state: "RUNNING",
    nodes: 1,
    elapsed: "0:10",
    reason: "a",
    tasks: 1,
  };
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

test("a predicted start is in the time zone of the reader", async () => {
  const job = {
    partition: "gpu",
    user: "ada",
    state: "PENDING",
    nodes: 1,
    elapsed: "0:00",
    tasks: 1,
    reason: "Priority",
  };
  const own = { name: "bigbatch-cafe-1", is_own: true, run_id: 42 };
  vi.stubEnv("TZ", "Asia/Tokyo");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const queue = [
    { ...job, ...own, job_id: "1", predicted_start: "2026-01-05T13:40:00Z" },
    { ...job, ...own, job_id: "2", predicted_start: null },
  ];
  const report = { partitions: [], nodes: [], queue };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const rows = within(await screen.findByRole("region", { name: "Queue" })).getAllByRole("row");
  const cells = rows.map((row) => row.lastElementChild);
  expect(cells[1]?.firstElementChild).toHaveAttribute("datetime", "2026-01-05T13:40:00Z");
  expect(cells[1]).toHaveTextContent(/^5 Jan 22:40:00$/);
  expect(cells[2]).toHaveTextContent(/^–$/);
});

test("the tables name exclusive nodes, and the nodes or the reason of a job", async () => {
  const partitions = [aPartition(), aPartition({ name: "gpu", is_default: false, whole_nodes: true })];
  const job = {
    partition: "gpu",
    name: "train",
    user: "ada",
    nodes: 2,
    elapsed: "0:10",
    tasks: 1,
    is_own: false,
    run_id: null,
  };
  const queue = [
    { ...job, job_id: "1", state: "RUNNING", reason: "n[1-2]" },
    { ...job, job_id: "2", state: "PENDING", reason: "Priority" },
  ];
  const report = { partitions, nodes: [], queue };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const rows = async (name: string) =>
    within(await screen.findByRole("region", { name })).getAllByRole("row");
  const [, cpu, gpu] = await rows("Partitions");
  expect(cpu).not.toHaveTextContent("exclusive nodes");
  expect(gpu).toHaveTextContent("4 exclusive nodes");
  const cells = (await rows("Queue")).map((row) => [...row.children].map((cell) => cell.textContent));
  const at = cells[0]?.indexOf("Nodes / reason") ?? -1;
  expect(cells.map((row) => row[at])).toEqual(["Nodes / reason", "n[1-2]", "Priority"]);
});

test("the queue explains why a job waits, and shows the place of a job of this service", async () => {
  const job = {
    partition: "gpu",
    user: "ada",
    state: "PENDING",
    nodes: 1,
    elapsed: "0:00",
    priority: 7,
    tasks: 1,
  };
  const waits = { reason: "Priority", sentence: "jobs of a higher priority come first (Priority)" };
  const place = { partition: "gpu", place: 22, pending: 31 };
  const queue = [
    { ...job, ...waits, job_id: "1", name: "train", is_own: false, run_id: null, place: null },
    { ...job, ...waits, job_id: "2", name: "bigbatch-cafe-1", is_own: true, run_id: 42, place },
  ];
  const report = { partitions: [], nodes: [], queue };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const rows = within(await screen.findByRole("region", { name: "Queue" })).getAllByRole("row");
  expect(rows[1]).toHaveTextContent("22nd of 31 pending jobs in gpu");
  expect(rows[1]).toHaveTextContent("jobs of a higher priority come first (Priority)");
  expect(rows[2]).not.toHaveTextContent("of 31 pending jobs");
});

test("the table of nodes links to the runs on a node, and counts the jobs of others", async () => {
  const job = {
    partition: "cpu",
    user: "ada",
    state: "RUNNING",
    nodes: 1,
    elapsed: "0:10",
    reason: "a",
    tasks: 1,
  };
  const own = { ...job, name: "bigbatch-cafe-1", is_own: true };
  const queue = [
    { ...job, job_id: "1", name: "train", is_own: false, run_id: null },
    ...[2, 3, 4, 5, 6].map((number) => ({ ...own, job_id: `${number}`, run_id: number })),
    { ...own, job_id: "7", run_id: null },
  ];
  const ids = queue.map((each) => each.job_id);
  const nodes = [
    { ...aNode("a", "mixed", 8), jobs: ["1", "2"] },
    { ...aNode("b", "mixed", 8), jobs: [...ids, "gone"] },
    { ...aNode("c", "idle", 0), jobs: [] },
  ];
  const report = { partitions: [], nodes, queue };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const rows = within(await screen.findByRole("region", { name: "Nodes" })).getAllByRole("row");
  const [, one, many, none] = rows.map((row) => within(row));
  expect(one?.getByRole("link", { name: "run 2" })).toHaveAttribute("href", "/runs/2");
  expect(one?.getByText("1 of others")).toBeVisible();
  expect(many?.getAllByRole("link")).toHaveLength(4);
  expect(many?.getByText("2 jobs of this service, 1 of others")).toBeVisible();
  expect(none?.queryByRole("link")).toBeNull();
});

test("nodes on which attempts failed are listed and marked", async () => {
  const at = "2026-01-04T12:00:00Z";
  const reason = "a node of the job failed (NODE_FAIL)";
  const attempt = { run_id: 42, attempt: 1, at, cause: "node_failure", reason };
  const node = { cluster: "slurm", attempts: 9, node_failures: 0, possible: 0, other_causes: {}, newest: [] };
  const failures = {
    since: "2025-12-05T12:00:00Z",
    nodes: [
      { ...node, node: "a", node_failures: 3, possible: 1, newest: [attempt, { ...attempt, run_id: 43 }] },
      { ...node, node: "b", other_causes: { failure: 2, out_of_memory: 1 } },
      { ...node, node: "elsewhere", cluster: "local", node_failures: 1 },
    ],
    total: 5,
    is_complete: false,
  };
  const report = { partitions: [], nodes: [aNode("a", "idle", 0), aNode("b", "idle", 0)], queue: [] };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: at, error: null, report }],
    "GET /clusters/node-failures": () => failures,
  });
  openPage("/clusters");
  const table = within(await screen.findByRole("region", { name: "Node failures" }));
  const rows = table.getAllByRole("row").slice(1);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toHaveTextContent("a3 and 1 possible");
  expect(rows[0]).toHaveTextContent(reason);
  expect(table.getByRole("link", { name: "run 43" })).toHaveAttribute("href", "/runs/43");
  expect(rows[1]).toHaveTextContent("b02 failure of the run, 1 out of memory9");
  expect(screen.getByText("2 more nodes had fewer failures.")).toBeVisible();
  expect(screen.getByText(/^Only the newest attempts were counted/)).toBeVisible();
  expect(screen.getByTitle("a: idle, 0 of 8 cores busy; 3 node failures in 30 days")).toBeInTheDocument();
  expect(screen.getByTitle("b: idle, 0 of 8 cores busy")).toBeInTheDocument();
});

test("a cluster without failures says so", async () => {
  const report = { partitions: [], nodes: [aNode("a", "idle", 0)], queue: [] };
  const service = new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
    "GET /clusters/node-failures": () => ({ since: "", nodes: [], total: 0, is_complete: true }),
  });
  openPage("/clusters");
  expect(await screen.findByText("No attempt failed on a known node.")).toBeVisible();
  expect(service.requests).toContain("GET /clusters/node-failures?limit=200");
});

test("each waiting task of an array counts as a job, and nodes that take none are named", async () => {
  const job = {
    partition: "cpu",
    user: "ada",
    state: "PENDING",
    nodes: 1,
    elapsed: "0:00",
    reason: "Priority",
  };
  const queue = [
    { ...job, job_id: "7_[0-9]", name: "array", run_id: null, is_own: true, tasks: 10 },
    { ...job, job_id: "8", name: "one", run_id: null, is_own: false, tasks: 1 },
  ];
  const partitions = [aPartition({ nodes: 16, out_of_service: { drained: 2, down: 1 } })];
  new Service({
    "GET /clusters": () => [
      {
        kind: "slurm",
        asked_at: "2026-01-05T12:00:00Z",
        error: null,
        report: { partitions, nodes: [], queue },
      },
    ],
  });
  openPage("/clusters");
  expect(await screen.findByText(/11 jobs/)).toBeVisible();
  expect(screen.getByText(/16, 2 drained, 1 down/)).toBeVisible();
});

test("a legend says what the cells of the nodes mean", async () => {
  const nodes = [aNode("a", "mixed", 4), aNode("b", "idle", 0), aNode("c", "down", 0)];
  const report = { partitions: [], nodes, queue: [] };
  new Service({
    "GET /clusters": () => [{ kind: "slurm", asked_at: "2026-01-05T12:00:00Z", error: null, report }],
  });
  openPage("/clusters");
  const legend = await screen.findByRole("list", { name: "Legend of the nodes" });
  expect(legend).toHaveTextContent(/^1 in use, filled by busy cores1 idle1 down or drained$/);
});
