/** The compared runs with the values of the requested fields. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { serviceNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { TablePage, TableRow } from "@/shared/api/types";
import { formatTick } from "@/shared/format/number";
import { formatDuration } from "@/shared/format/time";
import { timeUnit } from "@/shared/frame/axis";
import { MOST_COMPARED } from "@/shared/run-table/addresses";
import { type Cell, cellText, type ColumnKind } from "@/shared/run-table/columns";
import { type Asked, fetchRows } from "@/shared/run-table/useRunTable";
import { seriesKind } from "@/shared/series/catalog";
import { hasEnded } from "@/shared/state/state";

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

const EMPTY: TablePage = { total: 0, offset: 0, columns: [], rows: [] };

/** The rows of the compared runs with the fields that the page shows: one request for all of them. */
export function useRunData(ids: readonly number[], fields: readonly string[]) {
  const pollInterval = usePollInterval();
  const asked: Asked = { where: "", q: "", sort: "id", columns: [...fields], archived: false, runs: ids };
  const { data, error } = useQuery({
    queryKey: keys.comparedRuns(ids, fields),
    queryFn: ({ signal }) => fetchRows(asked, { limit: MOST_COMPARED }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.rows.some((row) => !hasEnded(row.state)) ? pollInterval(false) : false,
    select: toData,
    retry: false,
  });
  return { data: data ?? NO_DATA, isKnown: data !== undefined, error };
}

const NO_DATA = new RunData(EMPTY);

/** A function of its own: a new one at each rendering would make new data. */
function toData(page: TablePage): RunData {
  return new RunData(page);
}
