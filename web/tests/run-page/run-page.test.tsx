import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { RunDetail } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

const LOSS = { steps: [1, 2, 3], values: [2.0, null, 1.5] };

function running(change: Partial<RunDetail> = {}) {
  const log = { text: "world 8\n", offset: 0, next: 8, size: 8 };
  return new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/curves": () => bucketedSeries({ loss: LOSS }),
    "GET /runs/7/log": (url) =>
      url.searchParams.get("offset") === "8" ? { ...log, text: "", offset: 8 } : log,
    "GET /experiments/3": () => anExperiment(),
    "POST /runs/7/stop": () => ({ stopping: 1 }),
  });
}

test("a poll appends new points to a curve, and null remains a gap", async () => {
  const service = running();
  openPage("/runs/7");
  await waitFor(() => {
    expect(chartOf("loss")?.aligned.ys[0]).toEqual([2.0, null, 1.5]);
  });
  service.answers["GET /runs/7/curves"] = (url) => {
    expect(url.searchParams.get("from")).toBe("3");
    return bucketedSeries({ loss: { steps: [3, 4], values: [1.5, 1.2] } });
  };
  await waitFor(() => {
    expect(chartOf("loss")?.aligned.x).toEqual([1, 2, 3, 4]);
  });
});

test("the spec panel shows the collectives that auto chose and the measured links", async () => {
  running({
    choices: {
      hosts: [2, 2],
      inside: { latency_s: 6e-5, rate: 3.1e9 },
      between: { latency_s: 2e-4, rate: 2.38e7 },
      choices: [
        { from_bytes: 0, collective: { kind: "halving_doubling", timeout_s: 300 } },
        { from_bytes: 32768, collective: { kind: "torus", rows: 2, wire: "bfloat16", timeout_s: 300 } },
      ],
    },
  });
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Collectives that auto chose" });
  expect(panel).toHaveTextContent("small: halving_doubling");
  expect(panel).toHaveTextContent("from 32.8 kB: torus rows=2 wire=bfloat16");
  expect(panel).toHaveTextContent(
    "inside a host 3.1 GB/s, latency 60 µs; between hosts 23.8 MB/s, latency 200 µs",
  );
});

test("the spec panel shows the bindings of a many-core run and the requests that failed", async () => {
  const rank = { threads: 17, cpus: "0-16,68-84", memory: "prefer:4", notes: [] };
  const note = "no memory policy: this host has no NUMA node without processors";
  running({
    bindings: {
      attempt: 1,
      constraint: "knl&snc4&flat",
      ranks: [
        { ...rank, rank: 0, host: "knl1" },
        { ...rank, rank: 1, host: "knl1", cpus: "17-33", memory: "default", notes: [note] },
        { ...rank, rank: 2, host: "knl2", threads: 1, cpus: "0" },
      ],
    },
  });
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Bindings of the ranks" });
  expect(panel).toHaveTextContent("on nodes with the features knl&snc4&flat");
  expect(panel).toHaveTextContent(
    "knl1: rank 0 on cpus 0-16,68-84, 17 threads, memory prefer:4; rank 1 on cpus 17-33, 17 threads",
  );
  expect(panel).toHaveTextContent("knl2: rank 2 on cpus 0, 1 thread, memory prefer:4");
  expect(panel).toHaveTextContent(`${note} (1 of 3 ranks)`);
});

test("a curve that has grown to too many buckets is requested as a whole again", async () => {
  const service = running();
  const steps = Array.from({ length: 1600 }, (_, at) => at + 1);
  service.answers["GET /runs/7/curves"] = () => bucketedSeries({ loss: { steps, values: steps } });
  openPage("/runs/7");
  await waitFor(() => {
    const whole = service.requests.filter((each) => each.endsWith("/curves?buckets=600&from=0"));
    expect(whole.length).toBeGreaterThan(1);
  });
});

test("the status of a failed run shows the reason", async () => {
  running({ state: "failed", reason: "rank 2 fell: loss is nan", ended_at: "2026-01-05T12:05:00Z" });
  openPage("/runs/7");
  expect(await screen.findByRole("heading", { name: "Failed at step 3" })).toBeVisible();
  expect(screen.getByText("rank 2 fell: loss is nan")).toBeVisible();
  expect(screen.queryByRole("button", { name: /Stop/ })).toBeNull();
  expect(document.title).toContain("failed");
});

test.each([
  [{ state: "pending" }, "Waiting"],
  [{ state: "running" }, "Warning"],
  [{ state: "running", stopping: true }, "Stopping"],
  [{ state: "done" }, "Done"],
] as const)("the reason of %o has the heading %s", async (change, heading) => {
  running({ ...change, reason: "the job is suspended and resumes later (SUSPENDED)" });
  openPage("/runs/7");
  expect(await screen.findByRole("heading", { name: heading })).toBeVisible();
});

test("the status shows the first failed rank, its evidence and the ranks that exited afterwards", async () => {
  const at = "2026-01-05T12:05:00.000Z";
  const echo = {
    rank: 0,
    host: "gpu1",
    at: "2026-01-05T12:05:00.012Z",
    kind: "python_error",
    echo: true,
  } as const;
  const own = {
    rank: 2,
    host: "gpu2",
    at,
    kind: "out_of_memory",
    reason: "rank 2: MemoryError",
    echo: false,
  } as const;
  running({
    state: "failed",
    reason: "rank 2: MemoryError",
    failure: {
      attempt: 1,
      kind: "out_of_memory",
      rank: 2,
      host: "gpu2",
      at,
      round: 3,
      reason: "rank 2: MemoryError",
      evidence: 'File "train.py", line 5\nMemoryError',
      source: "rank 2",
      falls: [own, { ...echo, reason: "rank 0: rank 2 died" }],
      has_begun: true,
    },
  });
  openPage("/runs/7");
  const status = await screen.findByRole("region", { name: "Status" });
  expect(status).toHaveTextContent(
    "Rank 2 failed first on gpu2: out of memory, missed in round 3 of the collective",
  );
  expect(status).toHaveTextContent('File "train.py", line 5 MemoryErrortraceback of rank 2');
  expect(status).toHaveTextContent("1 other rank exited afterwards+0.012 s rank 0: rank 2 died");
});

test("the title of the tab shows the progress, and a change of state is announced", async () => {
  const service = running();
  openPage("/runs/7");
  await waitFor(() => {
    expect(document.title).toBe("30% · Run 7 · Bigbatch");
  });
  service.answers["GET /runs/7"] = () => aRunDetail({ state: "done", step: 10 });
  expect(await screen.findByText("Run 7 is done")).toBeInTheDocument();
});

test("the stop button asks for confirmation and then shows that the run stops", async () => {
  const service = running();
  openPage("/runs/7");
  await userEvent.click(await screen.findByRole("button", { name: "Stop run 7" }));
  expect(screen.getByRole("dialog", { name: "Stop run 7?" })).toHaveTextContent("3 of 10 steps");
  service.answers["GET /runs/7"] = () => aRunDetail({ stopping: true });
  await userEvent.click(screen.getAllByRole("button", { name: "Stop run 7" }).at(-1) as HTMLElement);
  expect(await screen.findByRole("button", { name: "Stopping…" })).toBeDisabled();
  expect(service.requests).toContain("POST /runs/7/stop");
});

test("the log grows, stops following after a scroll, and follows again after a click", async () => {
  const service = running();
  openPage("/runs/7");
  const log = await screen.findByText(/world 8/);
  service.answers["GET /runs/7/log"] = () => ({ text: "step 1\n", offset: 8, next: 15, size: 15 });
  await waitFor(() => {
    expect(log).toHaveTextContent("world 8 step 1");
  });
  Object.defineProperty(log, "scrollHeight", { value: 1000 });
  log.scrollTop = 0;
  fireEvent.scroll(log);
  await userEvent.click(await screen.findByRole("button", { name: "follow" }));
  expect(log.scrollTop).toBe(1000);
});

test("a log that cannot be read shows the service's reason", async () => {
  const service = running();
  delete service.answers["GET /runs/7/log"];
  openPage("/runs/7");
  expect(await screen.findByText("The log cannot be shown: there is no GET /runs/7/log.")).toBeVisible();
});

test("a long log loses whole characters at its start, but not while the reader has scrolled up", async () => {
  const service = running();
  const line = "vérité\n"; // nine bytes in seven characters
  let printed = line.repeat(150_000); // above a million characters
  service.answers["GET /runs/7/log"] = (url) => {
    const bytes = Buffer.from(printed);
    const offset = Math.max(0, Number(url.searchParams.get("offset")));
    return { text: bytes.subarray(offset).toString(), offset, next: bytes.length, size: bytes.length };
  };
  openPage("/runs/7");
  const log = await screen.findByText(/vérité/);
  Object.defineProperty(log, "scrollHeight", { value: 1000 });
  fireEvent.scroll(log);
  printed += "step 1\n";
  await waitFor(() => {
    expect(log.textContent === printed).toBe(true);
  });
  await userEvent.click(screen.getByText("follow"));
  printed += "step 2\n";
  await userEvent.click(await screen.findByText("show earlier lines"));
  // 7,144 lines of nine bytes and one without its end
  expect(service.requests).toContain("GET /runs/7/log?offset=0&limit=64304");
});

test("the page lists the ranks that a run lost", async () => {
  const reason = "its connection ended";
  running({ lost_ranks: [{ attempt: 1, rank: 2, step: 1310, at: 1795306542.4, reason }] });
  openPage("/runs/7");
  expect(await screen.findByRole("list", { name: "Lost ranks" })).toHaveTextContent(
    "rank 2 was lost at step 1,310 of rank 0, in attempt 1: its connection ended; the other ranks continued",
  );
});

test("the attempts show the hosts that failed under a run", async () => {
  const times = { started_at: null, ended_at: "2026-01-05T12:01:00Z", ran_s: null };
  const outcome = { cause: "node_failure" as const, reason: null, hosts: ["gpu2"] };
  const attempt = { number: 1, job_id: "7", step: 3, ...times, ...outcome };
  running({ attempt: 2, attempts: [attempt], excluded: ["gpu2"] });
  openPage("/runs/7");
  expect(await screen.findByText(/failed under this run: gpu2/)).toBeVisible();
});

test("a restart is a mark on the curves and a line with the repeated steps", async () => {
  const restarts = [{ attempt: 2, step: 2, lost_steps: 1, at: "2026-01-05T12:01:00Z" }];
  running({ attempt: 2, restarts });
  openPage("/runs/7");
  await waitFor(() => {
    expect(chartOf("loss")?.marks).toEqual([2]);
  });
  expect(screen.getByRole("list", { name: "Restarts" })).toHaveTextContent(
    "attempt 2 resumed from step 2; 1 step repeated",
  );
});

test("the checkpoint advice of a many-core run is the advice for its world", async () => {
  const resources = {
    kind: "slurm",
    nodes: 2,
    ranks_per_node: 1,
    many_core: { cpus: 64, parts: 4, chips: 1 },
  };
  const spec = { ...aRunDetail().spec, resources } as unknown as RunDetail["spec"];
  const service = running({ spec, world: 8 });
  const advice = (world: number, best_s: number) => ({
    ...{ world, best_s, runs: 1, trained_s: 3600, interruptions: 3, paused: 0, lost_steps: 0, saves: 4 },
    ...{ cost_s: 2, write_s: 9, between_s: 1200, between_least_s: 500, between_most_s: 4000 },
    ...{ interval_s: 600, waste: 0.05, best_waste: 0.02, not_below_s: null, why: null },
  });
  service.answers["GET /experiments/3/checkpoints"] = () => [advice(2, 60), advice(8, 120)];
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Checkpoints" });
  expect(panel).toHaveTextContent("Best interval 2 min:");
  expect(panel).not.toHaveTextContent("Best interval 1 min:");
});

test("the page of a run without points names the removal and shows no empty chart", async () => {
  const service = running({
    state: "done",
    ended_at: "2026-01-05T12:00:00Z",
    points_removed_at: "2026-02-04T12:00:00Z",
    history_removed_at: "2026-02-04T12:00:00Z",
    series: [],
  });
  service.answers["GET /runs/7/curves"] = () => ({ series: {} });
  openPage("/runs/7");
  const list = await screen.findByRole("list", { name: "Removed data" });
  expect(list).toHaveTextContent(
    "The points were removed 30 d after the run's end; the newest values remain.",
  );
  expect(list).toHaveTextContent("The times of waiting were removed 30 d after the run's end.");
  expect(screen.queryByText(/has not reported any values/)).toBeNull();
});
