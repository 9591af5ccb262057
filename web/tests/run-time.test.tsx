import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { RunDetail } from "@/shared/api/types";
import { openPage } from "./testing/openPage";
import { anExperiment, aRunDetail, Service } from "./testing/service";

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
