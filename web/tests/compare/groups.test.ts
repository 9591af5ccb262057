import { expect, test } from "vitest";
import { defaultGroup, fieldHead, fieldOf, figureOf, labelFields } from "@/features/compare/groups/fields";
import { groupRuns } from "@/features/compare/groups/groups";
import { RunData } from "@/features/compare/groups/runData";
import { curveOptions, groupsOfMeans } from "@/features/compare/curves/options";
import { moved, panelText, readPanel, withOptions } from "@/features/compare/panels/panels";
import { readCompareState, readIds, writeCompareState } from "@/features/compare/useCompareState";
import type { ComparedField, TableRow } from "@/shared/api/types";
import { aRun } from "../testing/service";

function dataOf(columns: string[], cells: TableRow["cells"][]): RunData {
  return new RunData({
    columns: columns.map((name) => ({ name, kind: "any", metric: null })),
    rows: cells.map((own, at) => ({ ...aRun({ id: at + 1 }), cells: own })),
  });
}

function field(path: string, ...values: (string | number | null)[]): ComparedField {
  const choices = [...new Set(values)];
  return { path, choices, places: values.map((value) => choices.indexOf(value)) };
}

test("runs that have the fields alike are a group, in the order of the values", () => {
  const data = dataOf(
    ["batch", "optimizer.kind"],
    [
      [256, "lars"],
      [64, "sgd"],
      [256, "lars"],
      [64, null],
    ],
  );
  const groups = groupRuns(data, [1, 2, 3, 4], ["batch", "optimizer.kind"], [], "light");
  expect(groups.map(({ label, ids }) => [label, ids])).toEqual([
    ["batch 64, sgd", [2]],
    ["batch 64, optimizer none", [4]],
    ["batch 256, lars", [1, 3]],
  ]);
  expect(new Set(groups.map(({ color }) => color)).size).toBe(3);
});

test("values of different types are groups of different names", () => {
  const data = dataOf(["lr"], [[1], ["1"], [2]]);
  const groups = groupRuns(data, [1, 2, 3], ["lr"], [], "light");
  expect(groups.map(({ label, ids }) => [label, ids])).toEqual([
    ["lr 1", [1]],
    ["lr 2", [3]],
    ['lr "1"', [2]],
  ]);
});

test("without a grouping each run is named by what it differs in", () => {
  const data = dataOf(["lr"], [[0.1], [0.2]]);
  expect(groupRuns(data, [2, 1, 9], [], ["lr"], "light").map(({ label }) => label)).toEqual([
    "Run 2: lr 0.2",
    "Run 1: lr 0.1",
  ]);
});

test("runs are grouped over their seeds without a choice, and not grouped if none is repeated", () => {
  const runs = [1, 2, 3, 4];
  const seed = field("seed", 0, 1, 0, 1);
  const spec = [
    field("optimizer.eps", null, null, 1, 1),
    field("optimizer.kind", "lars", "lars", "sgd", "sgd"),
    seed,
  ];
  // the kind explains the other field, which divides the runs in the same way
  expect(defaultGroup({ runs, spec })).toEqual(["optimizer.kind"]);
  expect(labelFields({ runs, spec })).toEqual(["optimizer.kind", "seed"]);
  expect(defaultGroup({ runs, spec: [field("batch", 1, 2, 3, 4), seed] })).toEqual([]);
  expect(defaultGroup({ runs, spec: [seed] })).toEqual([]);
});

test("names of fields are quoted where the query language needs it", () => {
  expect([fieldOf("schedule.rate"), fieldOf("parameters.my name"), figureOf("best", "val acc")]).toEqual([
    ...["schedule.rate", "`parameters.my name`", "best(`val acc`)"],
  ]);
});

test("many lines are means, a few are lines, and the reader's choice comes first", () => {
  const ids = Array.from({ length: 70 }, (_, at) => at);
  const single = ids.map((id) => ({ key: String(id), label: "", ids: [id], color: "", dash: [] }));
  const panel = { kind: "curves", options: {} } as const;
  expect(curveOptions(panel, { metrics: [] }, single).isMean).toBe(true);
  expect(curveOptions(panel, { metrics: [] }, single.slice(0, 10)).isMean).toBe(false);
  expect(curveOptions(withOptions(panel, { lines: "each" }), { metrics: [] }, single).isMean).toBe(false);
  expect(groupsOfMeans(single, false, "light")).toMatchObject([{ label: "all runs", ids }]);
  expect(groupsOfMeans(single, true, "light")).toBe(single);
});

test("the address holds every choice of the page", () => {
  const panels = [
    { kind: "curves", options: { metric: "val/acc & more", x: "epoch" } },
    { kind: "scatter", options: {} },
  ] as const;
  const state = { runs: [3, 12], where: "", group: [], panels: [...panels], metric: "loss" };
  const written = writeCompareState(new URLSearchParams("other=1"), state);
  expect(readCompareState(new URLSearchParams(written.toString()))).toEqual(state);
  expect(written.get("runs")).toBe("3,12");
  expect(written.get("other")).toBe("1");
  const defaults = writeCompareState(written, { group: null, panels: null, metric: "" });
  expect([defaults.has("group"), defaults.has("panel"), defaults.has("metric")]).toEqual([
    false,
    false,
    false,
  ]);
  expect(readCompareState(writeCompareState(written, { panels: [] })).panels).toEqual([]);
});

test("a wrong address is read as far as it goes", () => {
  expect(readIds("12, 15 run 40;12 99999999999 -3")).toEqual([12, 15, 40, 3]);
  expect(readPanel("kind=pie&x=1")).toBeNull();
  expect(readPanel(panelText({ kind: "box", options: { field: "best(loss)" } }))).toEqual({
    kind: "box",
    options: { field: "best(loss)" },
  });
});

test("panels move up and down, and an emptied option is its default again", () => {
  const [one, two] = [{ kind: "box", options: { a: "1" } } as const, { kind: "bars", options: {} } as const];
  expect(moved([one, two], 0, 1)).toEqual([two, one]);
  expect(moved([one, two], 0, -1)).toEqual([one, two]);
  expect(withOptions(one, { a: "", b: "2" }).options).toEqual({ b: "2" });
});

test("the title of a panel begins with a capital letter, but for a name of the user's", () => {
  const heads = ["duration", "best(val/loss)", "last(heldout_loss)", "last(val/loss)", "parameters.lr"];
  expect(heads.map(fieldHead)).toEqual(["Duration", "Best val/loss", "Held-out loss", "val/loss", "lr"]);
});
