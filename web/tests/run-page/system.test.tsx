import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { systemOf } from "@/shared/series/names";
import { bucketedSeries } from "../testing/curves";
import { aRunDetail, Service } from "../testing/service";
import { openPage } from "../testing/openPage";

test("the parts of a node's series are read from its name", () => {
  expect(systemOf("system/cpu-3/gpu-0/busy")).toMatchObject({
    host: "cpu-3",
    device: "gpu-0",
    metric: "busy",
  });
  expect(systemOf("system/cpu-3/memory_bytes")).toMatchObject({
    host: "cpu-3",
    device: "",
    metric: "memory_bytes",
  });
  expect(systemOf("loss")).toBeNull();
});

test("a second tab has a chart for each metric of the nodes, asked for by name", async () => {
  const names = ["system/cpu-1/cpu", "system/cpu-1/memory_bytes", "system/cpu-2/cpu"];
  const service = new Service({
    "GET /runs/7": () => aRunDetail({ series: ["loss", ...names] }),
    "GET /runs/7/curves": (url) => {
      const asked = url.searchParams.getAll("name");
      const column = { steps: [15, 30], values: [0.5, 0.75] };
      return bucketedSeries(Object.fromEntries(asked.map((name) => [name, column])));
    },
  });
  openPage("/runs/7");
  await userEvent.click(await screen.findByRole("radio", { name: "System" }));
  expect(await screen.findByRole("heading", { name: "Processors, busy" })).toBeVisible();
  expect(screen.getByRole("heading", { name: "Memory, used" })).toBeVisible();
  expect(screen.getAllByText("75.0%")).toHaveLength(2);
  await waitFor(() => {
    const asked = service.requests.filter((request) => request.includes("name=system"));
    expect(asked[0]).toContain(names.map((name) => `name=${name}`).join("&"));
  });
  expect(window.location.search).toBe("?tab=system");
});

test("a run without them has no tab", async () => {
  new Service({ "GET /runs/7": () => aRunDetail({ series: ["loss"] }) });
  openPage("/runs/7");
  await screen.findByRole("button", { name: "Add to report" });
  expect(screen.queryByRole("radio", { name: "System" })).toBeNull();
});
