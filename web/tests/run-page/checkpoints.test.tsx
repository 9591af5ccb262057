import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { RunDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

const ITEM = {
  step: 1200,
  attempt: 2,
  is_complete: true,
  size_bytes: 2.05e8,
  written_at: "2026-01-05T12:00:00Z",
};

function open(change: Partial<RunDetail>) {
  const items = [
    { ...ITEM, name: "step-0000001400-attempt-2", step: 1400, is_complete: false },
    { ...ITEM, name: "step-0000001200-attempt-2" },
    { ...ITEM, name: "latest.pt", step: null, attempt: null, size_bytes: 512 },
  ];
  const service = new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /runs/7/checkpoints": () => ({ items, total: 30, folder: "/runs/000007-ab/checkpoints" }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  return service;
}

test.each(["running", "paused", "failed", "cancelled"] as const)(
  "a run that is %s shows its checkpoints",
  async (state) => {
    open({ state });
    const panel = await screen.findByRole("region", { name: "Stored checkpoints" });
    const rows = within(panel).getAllByRole("row").slice(1);
    expect(rows[0]).toHaveTextContent("step-0000001400-attempt-2 not complete1,4002205 MB");
    expect(rows[1]).toHaveTextContent("step-0000001200-attempt-2 1,2002205 MB");
    expect(rows[2]).toHaveTextContent("latest.pt ––512 B");
    expect(panel).toHaveTextContent("The newest 3 of 30 entries.");
    expect(panel).toHaveTextContent("/runs/000007-ab/checkpoints");
  },
);

test.each([{ state: "done" }, { state: "queued", attempt: 0 }] as const)(
  "a run that is %o asks for no checkpoints",
  async (change) => {
    const service = open(change);
    await screen.findByRole("region", { name: "Log" });
    expect(service.requests.filter((each) => each.includes("/runs/7/checkpoints"))).toEqual([]);
  },
);
