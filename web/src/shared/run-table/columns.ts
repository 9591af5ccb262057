/** The columns of the table of runs: their titles, formats and first orders, by the names of their fields. */
import type { FieldName, TableRow } from "@/shared/api/types";
import { formatCount, formatNumber, formatPercent, MISSING } from "@/shared/format/number";
import { formatAge, formatDuration } from "@/shared/format/time";
import { seriesKind } from "@/shared/series/catalog";

export type Cell = TableRow["cells"][number];

export interface ColumnKind {
  kind: string; // of its values
  metric: string | null;
}

/** Columns of a table for which the reader has chosen none; those that no run has are left out. */
export const DEFAULT_COLUMNS = [
  "name",
  "state",
  "owner",
  "tag",
  "batch",
  "optimizer",
  "loss",
  "best(heldout_accuracy)",
  "duration",
  "created",
];
const TITLES = new Map([
  ["name", "experiment"],
  ["experiment", "experiment id"],
  ["tag", "tags"],
]);
const FIGURE = /^(\w+)\((.+)\)$/;

/** Return whether any run has the field of a column. */
export function isKnown(column: string, names: FieldName[]): boolean {
  const metric = metricOf(column);
  if (metric !== null) return names.some(({ name, is_metric }) => is_metric && name === metric);
  return names.some(
    ({ name }) => name === column || name === `${column}.kind` || name === `parameters.${column}`,
  );
}

/** Return the metric of "best(loss)"; null for a column without a figure. */
export function metricOf(column: string): string | null {
  return FIGURE.exec(column)?.[2]?.replaceAll("`", "") ?? null;
}

const NO_FIGURES = new Set(["id", "experiment", "number"]);

/** Return whether the mean of a column's values over runs is of use. */
export function isFigure(column: string, names: FieldName[]): boolean {
  if (metricOf(column) !== null) return true;
  const kind = names.find(({ name }) => name === column)?.kind;
  return (kind === "number" || kind === "duration") && !NO_FIGURES.has(column);
}

/** Return the title of a column: "best accuracy", "batch", "momentum". */
export function titleOf(column: string): string {
  const found = FIGURE.exec(column);
  if (found)
    return `${found[1] === "last" ? "" : `${found[1] ?? ""} `}${seriesTitle(metricOf(column) ?? "")}`;
  if (column === "loss") return "loss";
  return TITLES.get(column) ?? (column.split(".").at(-1) === "kind" ? column.replace(".kind", "") : column);
}

function seriesTitle(metric: string): string {
  const title = seriesKind(metric).title;
  return title === metric ? title : title.charAt(0).toLowerCase() + title.slice(1);
}

/** Return the text of a cell. */
export function cellText(column: string, { kind, metric }: ColumnKind, cell: Cell, now: number): string {
  if (cell === null || cell === "") return MISSING;
  if (typeof cell !== "number") return kind === "moment" ? formatAge(String(cell), now) : String(cell);
  if (metric !== null) return seriesKind(metric).format(cell);
  if (kind === "duration") return formatDuration(cell);
  if (column === "progress") return formatPercent(cell, 0);
  return Number.isInteger(cell) ? plainInteger(column, cell) : formatNumber(cell);
}

function plainInteger(column: string, value: number): string {
  return ["id", "experiment", "seed"].includes(column) ? String(value) : formatCount(value);
}

/** Return whether the cells of a column stand at its right edge. */
export function isNumeric({ kind }: ColumnKind): boolean {
  return kind === "number" || kind === "duration";
}

/** Return the order after a click on a heading: the useful direction first, then the other one, then none. */
export function nextSort(sort: string, column: string, metric: string | null): string {
  const isHighFirst =
    (metric !== null && seriesKind(metric).ceiling === 1) ||
    ["created", "duration", "count"].includes(column);
  const orders = isHighFirst ? [`-${column}`, column, ""] : [column, `-${column}`, ""];
  return orders[(orders.indexOf(sort) + 1) % orders.length] ?? "";
}
