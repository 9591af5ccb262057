import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { RunDetail } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

function open(change: Partial<RunDetail> = {}): void {
  new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/curves": () => bucketedSeries({ samples_per_s: { steps: [1, 2], values: [100, 300] } }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
}

test("the figure of the samples per second is the mean of all steps, as mean(samples_per_s) of a query: the chart's head has the newest value", async () => {
  open();
  const chart = await screen.findByRole("region", { name: "Samples/s" });
  expect(within(chart).getByRole("heading").parentElement).toHaveTextContent("300");
  const metrics = within(screen.getByRole("region", { name: "Metrics" }));
  expect(metrics.getByText("Mean samples/s").parentElement).toHaveTextContent(/200.*all steps, batch 64/);
  expect(metrics.queryByText("Samples/s")).toBeNull();
});

test("a run that is done and diverged says which metric is no number, and from which step on", async () => {
  const sentence = "train/loss is nan from step 120 on";
  open({ state: "done", diverged: { metric: "train/loss", step: 120, value: "nan", sentence } });
  const panel = within(await screen.findByRole("region", { name: "Divergence" }));
  expect(panel.getByText(`${sentence}.`)).toBeVisible();
  expect(screen.getByText("diverged")).toHaveAttribute("title", sentence);
});

test("a run for which its cluster does not answer says since when, and that its state may be old", async () => {
  const unknown_since = new Date(Date.now() - 12 * 60_000).toISOString();
  open({ unknown_since, reason: "the job waits for nodes" });
  const status = within(await screen.findByRole("region", { name: "Status" }));
  expect(
    status.getByRole("heading", { name: "The cluster has not answered for this run since 12 min ago" }),
  ).toBeVisible();
  expect(status.getByText(/^The page shows the last known state/)).toBeVisible();
  expect(status.queryByText(/waits for nodes/)).toBeNull();
});

test("a run whose cluster answers has no such banner", async () => {
  open();
  await screen.findByRole("region", { name: "Metrics" });
  expect(screen.queryByRole("region", { name: "Status" })).toBeNull();
});

test("a failed run names its reason although its cluster does not answer", async () => {
  open({ state: "failed", reason: "loss is nan", unknown_since: new Date().toISOString() });
  const status = within(await screen.findByRole("region", { name: "Status" }));
  expect(status.getByText("loss is nan")).toBeVisible();
  expect(status.queryByText(/has not answered/)).toBeNull();
});

test("a job that ended before any rank began blames no rank", async () => {
  const reason = "the job could not be launched; training never started, see the log";
  const nobody = { rank: null, host: null, at: null, round: null, falls: [], has_begun: false };
  const failure = {
    attempt: 1,
    kind: "node_failure" as const,
    reason,
    evidence: reason,
    source: "slurm",
    ...nobody,
  };
  new Service({ "GET /runs/7": () => aRunDetail({ state: "failed", reason, failure }) });
  openPage("/runs/7");
  const status = await screen.findByRole("region", { name: "Status" });
  expect(status).toHaveTextContent("No rank had begun");
  expect(status).not.toHaveTextContent("its host failed");
});

test("what could not be read of a run's files is one line with its counts", async () => {
  const sentence = "3 lines (210 bytes) of the run's files could not be read, and are left out";
  open({ unread: { lines: 3, size_bytes: 210, folder_gone: false, sentence } });
  expect(await screen.findByText(`Damaged files: ${sentence}.`)).toBeVisible();
});

test("a run that logs to another tracker says what to set", async () => {
  const sentence = "this run logs to wandb (wandb/run-1), and Bigbatch reads no metric of it";
  open({ unread: { lines: 0, size_bytes: 0, folder_gone: false, sentence } });
  expect(await screen.findByText(`Metrics: ${sentence}.`)).toBeVisible();
});

function show(change: Partial<RunDetail>) {
  new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
}

const ended = {
  state: "done" as const,
  started_at: "2026-01-05T12:00:00Z",
  ended_at: "2026-01-05T13:00:00Z",
};

test("the time of a run is that of its attempts, without what lies between them", async () => {
  show({ ...ended, ran_s: 11 });
  const metrics = await screen.findByRole("region", { name: "Metrics" });
  expect(metrics).toHaveTextContent(/Time11 s/);
});

test("a time that is not known is not shown", async () => {
  show({ ...ended, ran_s: null });
  const metrics = await screen.findByRole("region", { name: "Metrics" });
  expect(metrics).not.toHaveTextContent("Time");
});
