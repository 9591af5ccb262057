import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { bucketedSeries } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

const COLUMN = { steps: [1, 2, 3], values: [3, 2, 1] };

/** A run of 51 series and more: the service answers with the first ones, others by name. */
function manySeries(count: number) {
  const own = Array.from({ length: count - 1 }, (_, at) => `layer_${String(at).padStart(3, "0")}`);
  const series = [...own, "loss"];
  return new Service({
    "GET /runs/7": () => aRunDetail({ state: "done", series }),
    "GET /runs/7/curves": (url) => {
      const asked = url.searchParams.getAll("name");
      expect(asked.length).toBeLessThanOrEqual(50);
      const names = asked.length ? asked : ["loss", ...own].slice(0, 50);
      return bucketedSeries(Object.fromEntries(names.map((name) => [name, COLUMN])));
    },
    "GET /experiments/3": () => anExperiment(),
  });
}

test("the 51st series of a run has a chart as well", async () => {
  manySeries(51);
  openPage("/runs/7");
  const more = await screen.findByRole("region", { name: "More series" });
  expect(within(more).getByRole("heading", { level: 2, name: "1 more series" })).toBeVisible();
  expect(await within(more).findByRole("region", { name: "layer_049" })).toBeVisible();
  await waitFor(() => {
    expect(chartOf("layer_049")?.aligned.x).toEqual([1, 2, 3]);
  });
});

test("many more series are shown a page at a time, and a search finds one of them; the address has both", async () => {
  const service = manySeries(160);
  openPage("/runs/7");
  const more = await screen.findByRole("region", { name: "More series" });
  expect(await within(more).findByText("1 to 50 of 110")).toBeVisible();
  expect(await within(more).findByRole("region", { name: "layer_049" })).toBeVisible();
  await userEvent.click(within(more).getByRole("button", { name: "Next" }));
  expect(window.location.search).toBe("?page=2");
  expect(await within(more).findByRole("region", { name: "layer_099" })).toBeVisible();
  await userEvent.type(within(more).getByRole("textbox", { name: "Find a series" }), "R_157");
  expect(await within(more).findByRole("region", { name: "layer_157" })).toBeVisible();
  expect(within(more).queryByRole("region", { name: "layer_099" })).toBeNull();
  expect(window.location.search).toBe("?find=R_157");
  expect(service.requests).toContainEqual(expect.stringMatching(/name=layer_157&buckets/));
});

test("a run of few series has no search", async () => {
  manySeries(20);
  openPage("/runs/7");
  expect(await screen.findByRole("region", { name: "Loss" })).toBeVisible();
  expect(screen.queryByRole("region", { name: "More series" })).toBeNull();
});
