import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { FieldName, RunGroups } from "@/shared/api/types";
import { textsOf } from "@/features/run-list/GroupTable";
import { openPage } from "../testing/openPage";
import { aRun, Service, tableOf } from "../testing/service";

const NAMES: FieldName[] = [
  { name: "batch", kind: "any", title: "field of the spec", is_metric: false },
  { name: "created", kind: "moment", title: "when the run was stored", is_metric: false },
  { name: "loss", kind: "number", title: "metric", is_metric: true },
];

function groups(): RunGroups {
  const figure = { count: 2, mean: 0.25, deviation: 0.05, least: 0.2, most: 0.3 };
  return {
    total: 2,
    runs: 5,
    by: [{ name: "batch", kind: "any", metric: null }],
    columns: [{ name: "loss", kind: "number", metric: null }],
    groups: [
      { values: [64], count: 3, figures: [figure], where: "batch = 64" },
      { values: [128], count: 2, figures: [null], where: "batch = 128" },
    ],
  };
}

function aService() {
  return new Service({
    "GET /runs/names": () => ({ names: NAMES }),
    "GET /runs/table": tableOf([aRun({ id: 1, values: { batch: 64 } })]),
    "GET /runs/groups": groups,
    "GET /views": () => ({ views: [] }),
  });
}

function asked(service: Service, kind: string): string | undefined {
  return service.requests.findLast((request) => request.startsWith(`GET /runs/${kind}`));
}

test("a field of the grouping is chosen, and moments are not offered", async () => {
  const service = aService();
  openPage("/runs?where=id+>+0");
  await userEvent.click(await screen.findByRole("button", { name: "Groups" }));
  const fields = within(screen.getByRole("list", { name: "Further fields" }));
  expect(fields.queryByRole("button", { name: "created" })).toBeNull();
  await userEvent.click(fields.getByRole("button", { name: "batch" }));
  await waitFor(() => {
    expect(asked(service, "groups")).toBe("GET /runs/groups?where=id > 0&by=batch&figure=loss&limit=500");
  });
  expect(window.location.search).toContain("group=batch");
});

test("a group shows mean, deviation and the number of runs with a value, and opens to its runs", async () => {
  const service = aService();
  openPage("/runs?group=batch");
  expect(await screen.findByText("2 groups of 5 runs")).toBeVisible();
  expect(asked(service, "table")).toBeUndefined(); // no rows are shown, and so none are asked for
  const row = screen.getByRole("button", { name: "Runs of batch 64" }).closest("tr");
  expect(row).toHaveTextContent(/64.*3.*0\.2500 ± 0\.05000 \(2\)/);
  await userEvent.click(screen.getByRole("button", { name: "Runs of batch 64" }));
  expect(await screen.findByRole("region", { name: "Runs of batch 64" })).toBeVisible();
  await waitFor(() => {
    expect(asked(service, "table")).toContain("where=batch = 64");
  });
  expect(new URLSearchParams(window.location.search).get("open")).toBe("batch = 64");
  await userEvent.click(screen.getByRole("button", { name: "Runs of batch 64" }));
  expect(screen.queryByRole("region", { name: "Runs of batch 64" })).toBeNull();
});

test("a heading sorts the groups at the service", async () => {
  const service = aService();
  openPage("/runs?group=batch");
  await userEvent.click(await screen.findByRole("button", { name: "runs" }));
  await waitFor(() => {
    expect(asked(service, "groups")).toContain("sort=-count");
  });
  expect(await screen.findByRole("columnheader", { name: /runs/ })).toHaveAttribute(
    "aria-sort",
    "descending",
  );
});

test("the error of a query is shown at its place for groups too", async () => {
  const service = aService();
  service.refused["GET /runs/groups"] = {
    status: 422,
    detail: "the query is not valid",
    errors: [{ path: "where", message: "no run has a field 'bach'", start: 0, end: 4 }],
  };
  openPage("/runs?where=bach+>+3&group=batch");
  expect(await screen.findByText("bach")).toBeVisible();
  expect(screen.getByRole("combobox", { name: "Query" })).toHaveAttribute("aria-invalid", "true");
});

test('groups of 1 and "1" have texts of their own', () => {
  const by = [{ name: "size", kind: "any", metric: null }];
  const groups = [1, "1", "b"].map((value) => ({ values: [value] }));
  expect(textsOf({ by, groups } as unknown as RunGroups, 0, 0)).toEqual(["1", '"1"', "b"]);
});

test("the table of an open group has the parameters in which its own runs differ", async () => {
  const service = aService();
  const lr: FieldName = { name: "parameters.lr", kind: "any", title: "field of the spec", is_metric: false };
  const runs = [0.1, 0.2].map((value, at) =>
    aRun({ id: at + 1, values: { batch: 64, "parameters.lr": value } }),
  );
  service.answers["GET /runs/names"] = () => ({ names: [...NAMES, lr] });
  service.answers["GET /runs/table"] = tableOf(runs);
  openPage("/runs?group=batch&open=batch+%3D+64");
  const table = await screen.findByRole("region", { name: "Runs of batch 64" });
  expect(await within(table).findByRole("columnheader", { name: /^lr/ })).toBeVisible();
});
