import { expect, test } from "vitest";
import type { TableRow } from "@/shared/api/types";
import { columnWidths, FIRST_WIDTH } from "@/shared/run-table/columnWidths";
import type { RunTableData } from "@/shared/run-table/useRunTable";

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
