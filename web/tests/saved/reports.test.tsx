import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { ReportDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { aRun, aRunDetail, Service, tableOf } from "../testing/service";

function aReport(): ReportDetail {
  return {
    ...{ id: 3, title: "Large batches", owner: "ada", blocks: 2, updated_at: "2026-01-05T12:00:00Z" },
    deleted_at: null,
    content: [
      { id: 5, content: { kind: "text", markdown: "LARS **holds**." } },
      { id: 6, content: { kind: "runs", title: "The best", run_ids: [7], columns: [] } },
    ],
  };
}

function aService() {
  const { content, ...view } = aReport();
  return new Service({
    "GET /reports": () => ({ reports: [view] }),
    "GET /reports/3": aReport,
    "PATCH /reports/3": aReport,
    "PUT /reports/3/blocks/5": () => content[0],
    "POST /reports": () => ({ ...view, id: 4 }),
    "POST /reports/3/blocks": () => content[0],
    "POST /reports/4/blocks": () => content[0],
    "GET /runs/names": () => ({ names: [] }),
    "GET /runs/table": tableOf([aRun()]),
    "GET /runs/7": () => aRunDetail(),
  });
}

test("a report is opened from the list, and its text is edited", async () => {
  const service = aService();
  openPage("/reports");
  await userEvent.click(await screen.findByRole("link", { name: "Large batches" }));
  expect(await screen.findByText("holds")).toBeVisible();
  expect(screen.getByRole("link", { name: "Save as HTML" })).toHaveAttribute(
    "href",
    "/api/v1/reports/3/file?format=html",
  );
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  await userEvent.type(screen.getByRole("textbox", { name: "Text in Markdown" }), " Always.");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => {
    expect(service.bodies).toContain(
      'PUT /reports/3/blocks/5 {"kind":"text","markdown":"LARS **holds**. Always."}',
    );
  });
});

test("a table in Markdown is a table", async () => {
  const markdown =
    "| batch | accuracy |\n|---|--:|\n| 256 | **98.3 %** |\n| 512 | <b>97 %</b> |\n\n- [x] done";
  const report = { ...aReport(), content: [{ id: 5, content: { kind: "text", markdown } }] };
  aService().answers["GET /reports/3"] = () => report;
  openPage("/reports/3");
  const table = within(await screen.findByRole("table"));
  expect(table.getAllByRole("columnheader").map((cell) => cell.textContent)).toEqual(["batch", "accuracy"]);
  expect(table.getAllByRole("cell").map((cell) => cell.textContent)).toEqual([
    ...["256", "98.3 %"],
    ...["512", "<b>97 %</b>"],
  ]);
  expect(table.getByRole("cell", { name: "98.3 %" })).toHaveStyle({ textAlign: "right" });
  expect(screen.queryByText(/\|/)).toBeNull();
  expect(screen.getByRole("img", { name: "done" })).toBeVisible();
});

test("parts are moved and removed by the order of their ids", async () => {
  const service = aService();
  openPage("/reports/3");
  await userEvent.click(await screen.findByRole("button", { name: "Move The best up" }));
  await userEvent.click(screen.getByRole("button", { name: "Remove the text" }));
  await waitFor(() => {
    expect(service.bodies).toContain('PATCH /reports/3 {"order":[6,5]}');
    expect(service.bodies).toContain('PATCH /reports/3 {"order":[6]}');
  });
  const table = screen.getByRole("region", { name: "The best" });
  expect(await within(table).findByRole("link", { name: "Run 7" })).toBeVisible();
});

test("a run is added to a known report, or to a new one", async () => {
  const service = aService();
  openPage("/runs/7");
  await userEvent.click(await screen.findByRole("button", { name: "Add to report" }));
  await screen.findByRole("option", { name: "Large batches" });
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  expect(await screen.findByRole("link", { name: "Open the report" })).toHaveAttribute("href", "/reports/3");
  expect(service.bodies[0]).toContain(
    'POST /reports/3/blocks {"content":{"kind":"runs","title":"Run 7","run_ids":[7]',
  );
  await userEvent.click(screen.getByRole("button", { name: "Close" }));
  await userEvent.click(screen.getByRole("button", { name: "Add to report" }));
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "Report" }), "a new report");
  await userEvent.type(screen.getByRole("textbox", { name: "Title of the new report" }), "New{Enter}");
  expect(await screen.findByRole("link", { name: "Open the report" })).toHaveAttribute("href", "/reports/4");
  expect(service.bodies).toContain('POST /reports {"title":"New"}');
});
