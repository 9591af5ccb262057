import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import type { FieldName, TablePage, TableRow } from "@/shared/api/types";
import { columnsOfRows, defaultColumns, figureOf, metricOf, titleOf } from "@/shared/run-table/columns";
import { columnWidths, FIRST_WIDTH } from "@/shared/run-table/columnWidths";
import { type RunTableData, useRunTable } from "@/shared/run-table/useRunTable";
import { aRun, Service } from "../testing/service";

const field = (name: string): FieldName => ({ name, kind: "any", title: "", is_metric: false });
const metric = (name: string): FieldName => ({ name, kind: "number", title: "", is_metric: true });

function page(columns: string[], rows: (string | number | null)[][]): TablePage {
  const named = columns.map((name) => ({ name, kind: "any", metric: null }));
  return { columns: named, rows: rows.map((cells) => ({ cells })) } as unknown as TablePage;
}

test("the default columns have the parameters and the quality of programs, beside those of the engine", () => {
  const engine = ["name", "state", "owner", "tag", "batch", "optimizer", "loss", "best(heldout_accuracy)"];
  const last = ["duration", "created"];
  expect(defaultColumns([field("batch"), metric("loss"), metric("compute_s")])).toEqual([...engine, ...last]);
  const names = [
    ...["parameters.lr", "parameters.seed"].map(field),
    ...["grad_norm", "system/n1/cpu", "val/accuracy", "val/accuracy/rank-1", "val loss"].map(metric),
  ];
  expect(defaultColumns(names)).toEqual([
    ...[...engine, "parameters.lr", "parameters.seed"],
    ...["best(val/accuracy)", ...last],
  ]);
  expect(defaultColumns(["train loss", "val loss"].map(metric))).toContain("best(`val loss`)");
  expect(titleOf("parameters.lr")).toBe("lr");
});

test("of the default columns those with a value are shown, and of parameters those that differ", () => {
  const columns = ["name", "owner", "batch", "loss", "parameters.lr", "parameters.epochs", "parameters.net"];
  const rows = [
    ["a", "", null, 0.5, 0.1, 3, null],
    ["a", "", null, null, 0.2, 3, "resnet"],
  ];
  expect(columnsOfRows(columns, page(columns, rows))).toEqual(["name", "loss", "parameters.lr"]);
  expect(columnsOfRows(columns, null)).toEqual(["name", "owner", "batch", "loss"]);
});

test.each([
  ["val loss", "best(`val loss`)"],
  ["a`b", "best(`a``b`)"],
  ["``", "best(``````)"],
  ["not", "best(`not`)"],
  ["top@5", "best(top@5)"],
])("the figure of the metric %s is %s as a query has it, and leads back to the metric", (name, field) => {
  expect(figureOf("best", name)).toBe(field);
  expect(metricOf(field)).toBe(name);
  expect(titleOf(field)).toBe(`best ${name}`);
});

const CELLS = ["short", "a text of thirty characters ..", "x".repeat(500)];
const DATA = {
  rowAt: (index: number) => (index in CELLS ? ({ id: index } as TableRow) : undefined),
  cellAt: (index: number) => CELLS[index] ?? null,
} as unknown as RunTableData;
const VIEW = [{ index: 0 }, { index: 2 }];

const like = { field: "field", isNumeric: false, render: () => null };
const number = { ...like, title: "best held-out accuracy", width: 90 };
const text = { ...like, title: "tags", width: 80, textOf: (_: unknown, cell: unknown) => String(cell) };

function widths(available: number, cells = 2): number[] {
  const some = { ...DATA, rowAt: (index: number) => (index < cells ? DATA.rowAt(index) : undefined) };
  return columnWidths([number, text], some, VIEW, available);
}

test("a column has the width of its heading and of its longest text where the table has space", () => {
  expect(widths(2000)).toEqual([208, 252]);
});

test("texts are cut and headings take two lines before the table scrolls", () => {
  expect(widths(FIRST_WIDTH + 208 + 252)).toEqual([208, 252]);
  const narrow = widths(FIRST_WIDTH + 300);
  expect(narrow.reduce((sum, width) => sum + width)).toBeLessThanOrEqual(300);
  expect(widths(300)).toEqual([139, 80]); // "best held-out" above "accuracy"
});

test("a text of hundreds of characters takes no more than 340 pixels", () => {
  expect(widths(2000, 3)).toEqual([208, 340]);
});

const ASKED = { where: "", q: "", sort: "", columns: ["lr", "batch"], archived: false, skipUnknown: true };

test("a cell is read by the columns of its own answer: a later one may have a column more", async () => {
  new Service({
    "GET /runs/table": (url) => {
      const isFirst = url.searchParams.get("offset") === "0";
      const names = isFirst ? ["batch"] : ["lr", "batch"];
      const cells = isFirst ? [64] : [0.1, 128];
      return {
        total: 200,
        offset: isFirst ? 0 : 100,
        columns: names.map((name) => ({ name, kind: "any", metric: null })),
        rows: Array.from({ length: 100 }, () => ({ ...aRun(), cells })),
      };
    },
  });
  const cache = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={cache}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useRunTable(ASKED, 60, 140, false), { wrapper });
  await waitFor(() => {
    expect(result.current.cellAt(120, "batch")).toBe(128);
  });
  expect(result.current.cellAt(80, "batch")).toBe(64);
  expect(result.current.cellAt(80, "lr")).toBeNull();
  expect(result.current.cellAt(120, "lr")).toBe(0.1);
});
