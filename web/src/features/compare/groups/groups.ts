/** Groups of the compared runs: those that have the fields of the grouping alike, with one color. */
import { useMemo, useState } from "react";
import type { RunComparison } from "@/shared/api/types";
import { valueText } from "@/shared/format/value";
import { changeAddress, currentAddress, useAddress } from "@/shared/page/address";
import { category, DASHES, MOST_CATEGORIES, ramp } from "@/shared/plot/palette";
import type { Cell } from "@/shared/run-table/columns";
import { type Theme, useTheme } from "@/shared/theme/theme";
import { defaultGroup, fieldTitle, labelFields } from "./fields";
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

export interface Groups {
  all: readonly RunGroup[];
  visible: readonly RunGroup[];
  fields: readonly string[]; // by which the runs are grouped
  hidden: ReadonlySet<string>;
  pointed: string | null; // the key of a group
  toggle: (key: string) => void;
  showAll: () => void;
  point: (key: string | null) => void;
}

/** Return the fields by which runs are grouped, and those that label single runs. */
export function groupingOf(
  comparison: RunComparison,
  chosen: string[] | null,
): { fields: string[]; labels: string[] } {
  const fields = chosen ?? defaultGroup(comparison);
  return { fields, labels: fields.length ? [] : labelFields(comparison) };
}

const HIDDEN = "hidden"; // a parameter of the address for each key

/**
 * The groups of the compared runs, which of them are hidden, as the address has it, and at which the reader points.
 */
export function useGroups(
  data: RunData,
  ids: readonly number[],
  { fields, labels }: { fields: string[]; labels: string[] },
): Groups {
  const theme = useTheme();
  const keys = JSON.stringify(useAddress().getAll(HIDDEN));
  const [pointed, point] = useState<string | null>(null);
  const names = JSON.stringify([fields, labels]);
  const all = useMemo(() => {
    const [group, label] = JSON.parse(names) as [string[], string[]];
    return groupRuns(data, ids, group, label, theme);
  }, [data, ids, names, theme]);
  const hidden = useMemo(() => {
    const known = new Set(all.map(({ key }) => key));
    return new Set((JSON.parse(keys) as string[]).filter((key) => known.has(key)));
  }, [all, keys]);
  const visible = useMemo(() => all.filter(({ key }) => !hidden.has(key)), [all, hidden]);
  return { all, visible, fields, hidden, pointed, toggle, showAll, point };
}

function toggle(key: string): void {
  const before = currentAddress().getAll(HIDDEN);
  const others = before.filter((one) => one !== key);
  changeAddress({ [HIDDEN]: others.length < before.length ? others : [...others, key] });
}

function showAll(): void {
  changeAddress({ [HIDDEN]: "" });
}
