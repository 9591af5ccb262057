/** The columns of the table of runs: their titles, formats and first orders, by the names of their fields. */
import type { FieldName, TablePage, TableRow } from "@/shared/api/types";
import { formatCount, formatNumber, formatPercent, MISSING } from "@/shared/format/number";
import { formatAge, formatDuration } from "@/shared/format/time";
import { hasCurve, isOfEngine, seriesKind, titleInText } from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";
import { plainName, quotedName } from "./completion";

export type Cell = TableRow["cells"][number];

export interface ColumnKind {
  kind: string; // of its values
  metric: string | null;
}

const FIRST_COLUMNS = ["name", "state", "owner", "tag"];
const ALWAYS = new Set(["name", "state"]);
const ENGINE_COLUMNS = ["batch", "optimizer", "loss", "best(heldout_accuracy)"];
const LAST_COLUMNS = ["duration", "created"];
const PARAMETER = "parameters.";
const MOST_PARAMETERS = 12; // of programs: those that differ between rows are shown
const TRAINING = /^train/i;

/** Return the columns that are asked for where the reader has chosen none: what runs of the engine and programs have. */
export function defaultColumns(names: FieldName[]): string[] {
  const fields = names.filter(({ is_metric }) => !is_metric).map(({ name }) => name);
  const metrics = names.filter(({ is_metric }) => is_metric).map(({ name }) => name);
  const own = metrics.filter((name) => hasCurve(name, true) && !isOfEngine(name));
  const heldOut = own.filter((name) => !TRAINING.test(name));
  return [
    ...[...FIRST_COLUMNS, ...ENGINE_COLUMNS],
    ...fields.filter((name) => name.startsWith(PARAMETER)).slice(0, MOST_PARAMETERS),
    ...keySeries([...heldOut, ...own], 1).map((name) => figureOf("best", name)),
    ...LAST_COLUMNS,
  ];
}

/**
 * Return the default columns that say something of these rows: those with a value in any of them.
 *
 * Of the parameters of programs it is those with several values.
 */
export function columnsOfRows(columns: string[], page: TablePage | null): string[] {
  if (!page?.rows.length) return columns.filter((column) => !column.startsWith(PARAMETER));
  return columns.filter((column) => {
    const place = page.columns.findIndex(({ name }) => name === column);
    const cells = page.rows.map((row) => row.cells[place] ?? "").filter((cell) => cell !== "");
    const isVaried = new Set(cells.map((cell) => JSON.stringify(cell))).size > 1;
    return ALWAYS.has(column) || (column.startsWith(PARAMETER) ? isVaried : cells.length > 0);
  });
}

/** Return the field of a metric's figure: "best(val/loss)". */
export function figureOf(figure: string, metric: string): string {
  return `${figure}(${quotedName(metric)})`;
}

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
  const inside = FIGURE.exec(column)?.[2];
  return inside === undefined ? null : plainName(inside);
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
    return `${found[1] === "last" ? "" : `${found[1] ?? ""} `}${titleInText(seriesKind(metricOf(column) ?? ""))}`;
  if (column === "loss") return "loss";
  if (column.startsWith(PARAMETER)) return column.slice(PARAMETER.length);
  return TITLES.get(column) ?? (column.split(".").at(-1) === "kind" ? column.replace(".kind", "") : column);
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
export function nextSort(
  sort: string,
  column: string,
  metric: string | null,
  isHigh = metric !== null && seriesKind(metric).ceiling === 1,
): string {
  const isHighFirst = isHigh || ["created", "duration", "count"].includes(column);
  const orders = isHighFirst ? [`-${column}`, column, ""] : [column, `-${column}`, ""];
  return orders[(orders.indexOf(sort) + 1) % orders.length] ?? "";
}
