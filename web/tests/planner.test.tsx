import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { PlanOption, PlanReport } from "@/shared/api/types";
import { openPage } from "./testing/openPage";
import { Service } from "./testing/service";

function open(path = "/plan", change: Partial<PlanReport> = {}) {
  const service = new Service({
    "POST /plans": () => aPlan(change),
    "GET /plans/devices": () => [
      {
        name: "v100",
        title: "NVIDIA V100 SXM2 16 GB",
        float32_flops: 1.57e13,
        half_flops: 1.25e14,
        memory_bytes: 1.6e10,
        source: "NVIDIA's data sheet",
      },
    ],
    "GET /clusters": () => [],
  });
  openPage(path);
  return service;
}

test("the page says what K-FAC adds to a step and when it pays", async () => {
  open();
  const panel = await screen.findByRole("region", { name: "Batch and ranks" });
  expect(panel).toHaveTextContent("K-FAC adds 50 ms to a step: 1.25 times a step without it.");
  expect(panel).toHaveTextContent("It pays where it needs less than 80% of the epochs.");
});

test("a net whose K-FAC has no price has no word of it", async () => {
  open("/plan", { kfac: null });
  const panel = await screen.findByRole("region", { name: "Batch and ranks" });
  expect(panel).not.toHaveTextContent("K-FAC");
});

function requests(service: Service): Record<string, unknown>[] {
  return service.bodies
    .filter((body) => body.startsWith("POST /plans "))
    .map((body) => JSON.parse(body.slice("POST /plans ".length)) as Record<string, unknown>);
}

test("a GPT has its own numbers, and the table shows the ranks that share it", async () => {
  const mesh = anOption({
    rule: "sync, tensor three_d of 64",
    collective: null,
    mesh_ranks: 64,
    memory_bytes: null,
  });
  const service = open("/plan", { kfac: null, options: [anOption(), mesh] });
  await userEvent.selectOptions(await screen.findByLabelText("Net"), "gpt");
  expect(screen.queryByLabelText(/Image side/)).toBeNull();
  const heads = screen.getByLabelText(/Heads/);
  await userEvent.clear(heads);
  await userEvent.type(heads, "16");
  await waitFor(() => {
    expect(requests(service).at(-1)).toMatchObject({
      model: { kind: "gpt", layers: 12, width: 768, heads: 16 },
      data: { kind: "text", context: 1024 },
    });
  });
  expect(await screen.findByRole("row", { name: /tensor three_d of 64/ })).toBeVisible();
});

test("GNMT is planned with its vocabulary and its longest sentence", async () => {
  const service = open("/plan?net=gnmt&words=40&width=512");
  await waitFor(() => {
    expect(requests(service).at(-1)).toMatchObject({
      model: { kind: "gnmt", units: 512 },
      data: { kind: "pairs", vocabulary: 32000, max_length: 40 },
    });
  });
});

test("the price of a device-hour and the efficiency are in the request, and the table has the cost", async () => {
  const service = open("/plan", { options: [anOption({ cost: 1234 })] });
  await userEvent.type(await screen.findByLabelText(/Price of a device-hour/), "2.5");
  const efficiency = screen.getByLabelText(/Least efficiency/);
  await userEvent.clear(efficiency);
  await userEvent.type(efficiency, "90");
  await waitFor(() => {
    expect(requests(service).at(-1)).toMatchObject({ device_hour_price: 2.5, efficiency: 0.9 });
  });
  expect(await screen.findByRole("columnheader", { name: "Cost" })).toBeVisible();
  expect(screen.getByRole("cell", { name: "1,234" })).toBeVisible();
});

function anOption(change: Partial<PlanOption> = {}): PlanOption {
  return {
    rule: "sync",
    collective: { kind: "ring", timeout_s: 300 },
    has_kfac: false,
    mesh_ranks: 1,
    memory_bytes: 5.1e9,
    step_s: 0.2,
    exchange_s: 0.01,
    epoch_s: 30,
    run_s: 2700,
    device_hours: 48,
    cost: null,
    ...change,
  };
}

/** A plan of the service, for tests of its page. */
function aPlan(change: Partial<PlanReport> = {}): PlanReport {
  return {
    ranks: 64,
    weights: 25557032,
    sample_flops: 2.4e10,
    samples_per_s: 300,
    memory: {
      parts: [
        { name: "weights", bytes: 1e8 },
        { name: "activations", bytes: 5e9 },
      ],
      total_bytes: 5.1e9,
      device_bytes: 1.6e10,
      largest_micro_batch: 128,
    },
    batch: { batch: 8192, micro_batch: 128, passes: 1, steps_per_epoch: 156, advice: [] },
    scaling: { overhead: 0.01, speedup: 60, advised_ranks: 100, servers: 2 },
    kfac: { added_s: 0.05, ratio: 1.25, pays_below: 0.8 },
    options: [anOption(), anOption({ rule: "sync, K-FAC", has_kfac: true, step_s: 0.25, exchange_s: 0.06 })],
    measured: [],
    assumed: ["a net reaches 0.45 of the float32 peak of the device, at every batch"],
    ...change,
  };
}
