/** The compared runs with the values of the requested fields. */
import { serviceNow } from "@/shared/api/clock";
import type { TablePage, TableRow } from "@/shared/api/types";
import { formatTick } from "@/shared/format/number";
import { formatDuration } from "@/shared/format/time";
import { timeUnit } from "@/shared/frame/axis";
import { type Cell, cellText, type ColumnKind } from "@/shared/run-table/columns";
import { seriesKind } from "@/shared/series/catalog";

const ANY: ColumnKind = { kind: "any", metric: null };

export class RunData {
  readonly rows: readonly TableRow[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #kinds: ReadonlyMap<string, ColumnKind>;
  readonly #byId: ReadonlyMap<number, TableRow>;

  constructor({ rows, columns }: Pick<TablePage, "rows" | "columns">) {
    this.rows = rows;
    this.#places = new Map(columns.map(({ name }, place) => [name, place]));
    this.#kinds = new Map(columns.map((column) => [column.name, column]));
    this.#byId = new Map(rows.map((row) => [row.id, row]));
  }

  row(id: number): TableRow | undefined {
    return this.#byId.get(id);
  }

  /** Return the value of a field; null for a field that was not requested. */
  value(id: number, field: string): Cell {
    const place = this.#places.get(field);
    return place === undefined ? null : (this.#byId.get(id)?.cells[place] ?? null);
  }

  /** Return a value that is a finite number, else null. */
  number(id: number, field: string): number | null {
    const value = this.value(id, field);
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  }

  /** Return the unit in which values up to `high` have round ticks. */
  unit(field: string, high: number): number {
    return this.#kinds.get(field)?.kind === "duration" ? timeUnit(high) : 1;
  }

  /** Return a value as a tick of an axis has it: short. */
  tick(field: string, value: number, distance?: number): string {
    const { kind, metric } = this.#kinds.get(field) ?? ANY;
    if (metric !== null) return (seriesKind(metric).tick ?? formatTick)(value, distance);
    if (kind === "duration") return value ? formatDuration(value) : "0";
    return formatTick(value, distance);
  }

  /** Return a value as the table of runs shows it. */
  text(field: string, value: Cell, now = serviceNow()): string {
    const kind = this.#kinds.get(field) ?? ANY;
    return cellText(field, kind, value, now);
  }
}
