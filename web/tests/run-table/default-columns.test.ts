import { expect, test } from "vitest";
import type { FieldName, TablePage } from "@/shared/api/types";
import { columnsOfRows, defaultColumns, figureOf, metricOf, titleOf } from "@/shared/run-table/columns";

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
