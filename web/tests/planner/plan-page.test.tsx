import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { PlanReport } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { Service } from "../testing/service";
import { anOption, aPlan } from "./aPlan";

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
