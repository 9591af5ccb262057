import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openPage } from "../testing/openPage";
import { aRun, Service, tableOf } from "../testing/service";

let saved: string[] = [];

beforeEach(() => {
  saved = [];
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(decodeURIComponent(this.getAttribute("href") ?? "").replaceAll("+", " "));
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

function someRuns() {
  return new Service({
    "GET /runs/names": () => ({
      names: [{ name: "batch", kind: "any", title: "field of the spec", is_metric: false }],
    }),
    "GET /runs/table": tableOf([aRun({ id: 1, state: "done" }), aRun({ id: 2, state: "done" })]),
    "GET /export/runs": () => "PAR1",
  });
}

async function choose(scope: HTMLElement, item: string): Promise<void> {
  await userEvent.click(within(scope).getByRole("button", { name: "Export" }));
  await userEvent.click(within(scope).getByRole("menuitem", { name: item }));
}

test("the filtered table is exported by the service: its query, its order and its columns; or all points", async () => {
  someRuns();
  openPage("/runs?where=batch+%3E+64&sort=-batch&columns=batch");
  await screen.findByRole("link", { name: "Run 1" });
  await choose(document.body, "Runs as CSV");
  await choose(document.body, "Points as JSON lines");
  expect(saved).toEqual([
    "/api/v1/export/runs?format=csv&where=batch > 64&sort=-batch&column=batch",
    "/api/v1/export/points?format=jsonl&where=batch > 64",
  ]);
});

test("a selection is exported alone, and a service without Parquet gives its reason", async () => {
  const service = someRuns();
  openPage("/runs?columns=batch");
  const row = (await screen.findByRole("link", { name: "Run 2" })).closest("tr");
  await userEvent.click(within(row as HTMLElement).getByRole("checkbox"));
  const bar = await screen.findByRole("group", { name: "Selected runs" });
  await choose(bar, "Runs as Parquet");
  await waitFor(() => {
    expect(saved).toEqual(["/api/v1/export/runs?format=parquet&run=2&sort=id&column=batch"]);
  });
  service.refused["GET /export/runs"] = { status: 422, code: "invalid", detail: "no pyarrow", errors: [] };
  await choose(bar, "Points as Parquet");
  expect(await within(bar).findByRole("alert")).toHaveTextContent("Nothing was saved: no pyarrow.");
  expect(saved).toHaveLength(1);
});
