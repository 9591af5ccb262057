/** Groups of the compared runs: those that have the fields of the grouping alike, with one color. */
import { valueText } from "@/shared/format/value";
import { category, DASHES, MOST_CATEGORIES, ramp } from "@/shared/plot/palette";
import type { Cell } from "@/shared/run-table/columns";
import type { Theme } from "@/shared/theme/theme";
import { fieldTitle } from "./fields";
import type { RunData } from "./runData";

export interface RunGroup {
  key: string;
  label: string;
  ids: number[];
  color: string;
  dash: number[];
}

type Bare = Omit<RunGroup, "color" | "dash"> & { values: Cell[] };

/** Return the groups in the order of their values; without fields each run is a group, labeled by `labels`. */
export function groupRuns(
  data: RunData,
  ids: readonly number[],
  fields: readonly string[],
  labels: readonly string[],
  theme: Theme,
): RunGroup[] {
  const known = ids.filter((id) => data.row(id));
  const groups = fields.length ? alike(data, known, fields) : known.map((id) => single(data, id, labels));
  const isOrdered = fields.length === 1 && groups.every(({ values }) => typeof values[0] === "number");
  return groups.map(({ key, label, ids: own }, index) => ({
    ...{ key, label, ids: own },
    ...styleOf(index, groups.length, isOrdered, theme),
  }));
}

function alike(data: RunData, ids: readonly number[], fields: readonly string[]): Bare[] {
  const found = new Map<string, Bare>();
  for (const id of ids) {
    const values = fields.map((field) => data.value(id, field));
    const key = JSON.stringify(values);
    const group = found.get(key) ?? { key, label: labelOf(fields, values), values, ids: [] };
    group.ids.push(id);
    found.set(key, group);
  }
  const groups = [...found.values()];
  const labels = groups.map(({ label }) => label);
  const isAlike = (label: string) => labels.indexOf(label) !== labels.lastIndexOf(label);
  for (const group of groups) if (isAlike(group.label)) group.label = exactLabelOf(fields, group.values);
  return groups.sort((one, other) => compareValues(one.values, other.values));
}

function single(data: RunData, id: number, labels: readonly string[]): Bare {
  const values = labels.map((field) => data.value(id, field));
  const details = labelOf(labels, values);
  return { key: String(id), label: `Run ${id}${details && `: ${details}`}`, values, ids: [id] };
}

/** Return "lars, batch 256": a word explains itself, a number needs the name of its field. */
function labelOf(fields: readonly string[], values: readonly Cell[]): string {
  return fields
    .map((field, at) => {
      const value = values[at] ?? null;
      const isWord =
        typeof value === "string" && Number.isNaN(Number(value)) && value !== "true" && value !== "false";
      return isWord ? value : `${leafOf(field)} ${valueText(value)}`;
    })
    .join(", ");
}

/** Return the label in which 1 and "1" differ. */
function exactLabelOf(fields: readonly string[], values: readonly Cell[]): string {
  return fields.map((field, at) => `${leafOf(field)} ${JSON.stringify(values[at])}`).join(", ");
}

function leafOf(field: string): string {
  const title = fieldTitle(field);
  return (title.includes("(") ? title : (title.split(".").at(-1) ?? title)).replaceAll("_", " ");
}

/** Numbers come before words, words before no value. */
function compareValues(one: readonly Cell[], other: readonly Cell[]): number {
  for (const [at, value] of one.entries()) {
    const order = compareCells(value, other[at] ?? null);
    if (order) return order;
  }
  return 0;
}

function compareCells(one: Cell, other: Cell): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const rank = (value: Cell) => (value === null ? 2 : typeof value === "number" ? 0 : 1);
  return rank(one) - rank(other) || String(one).localeCompare(String(other));
}

const FEW = 4; // groups with an order have a ramp from here on

function styleOf(
  index: number,
  count: number,
  isOrdered: boolean,
  theme: Theme,
): Pick<RunGroup, "color" | "dash"> {
  const hasRamp = count > MOST_CATEGORIES || (isOrdered && count >= FEW);
  return {
    color: hasRamp ? ramp(index / Math.max(1, count - 1), theme) : category(index, theme),
    dash: count <= DASHES.length ? (DASHES[index] ?? []) : [],
  };
}
