/** GET /runs/table: the pages of the table of runs that are in view. */
import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { TablePage, TableRow } from "@/shared/api/types";

export const PAGE = 100; // rows of a request

/** What the table shows: the query, the order and the columns by the names of their fields. */
export interface Asked {
  where: string;
  q: string;
  sort: string;
  columns: string[];
  skipUnknown?: boolean; // leave out the columns that no run has, in place of an error
  archived: boolean;
  experiment?: number;
  runs?: readonly number[]; // only these
}

export interface RunTableData {
  total: number | null; // null: not known yet
  columns: TablePage["columns"];
  rowAt: (index: number) => TableRow | undefined;
  cellAt: (index: number, field: string) => TableRow["cells"][number]; // null: none, or its answer has no such column
  error: Error | null;
  isFetching: boolean;
}

/** Return the table with the rows from `first` to `last`; other rows may be absent. */
export function useRunTable(asked: Asked, first: number, last: number, every: number | false): RunTableData {
  const pages = pagesOf(first, last);
  const queries = useQueries({
    queries: pages.map((page) => ({
      ...rowsQuery(asked, page),
      placeholderData: keepPreviousData,
      refetchInterval: every,
    })),
  });
  const known = new Map(queries.flatMap(({ data }, index) => (data ? [[pages[index], data]] : [])));
  const newest = queries.find(({ data, isPlaceholderData }) => data && !isPlaceholderData)?.data;
  const shown = newest ?? queries.find(({ data }) => data)?.data;
  return {
    total: shown?.total ?? null,
    columns: shown?.columns ?? [],
    rowAt: (index) => known.get(Math.floor(index / PAGE))?.rows[index % PAGE],
    cellAt: (index, field) => {
      // by the columns of its own answer: another page may be older, or have one column more
      const page = known.get(Math.floor(index / PAGE));
      const place = page?.columns.findIndex(({ name }) => name === field) ?? -1;
      return page?.rows[index % PAGE]?.cells[place] ?? null;
    },
    error: queries.find(({ error }) => error)?.error ?? null,
    isFetching: queries.some(({ isPlaceholderData, isPending }) => isPlaceholderData || isPending),
  };
}

const FRESH_MS = 1_000; // a table does not ask again for rows that its page has just asked for

/** Return the query of a page of the table. */
export function rowsQuery(asked: Asked, page: number) {
  return {
    queryKey: keys.runTable(asked, page),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      fetchRows(asked, { offset: page * PAGE, limit: PAGE }, signal),
    staleTime: FRESH_MS,
    retry: false,
  };
}

/** The part of a table: from a row's number on, or behind the last row of a page. */
type Part = { offset: number; limit: number } | { after?: string; limit: number };

export function fetchRows(asked: Asked, part: Part, signal?: AbortSignal): Promise<TablePage> {
  const { where, q, sort, columns, skipUnknown, archived, experiment, runs } = asked;
  const query = {
    ...(where.trim() && { where }),
    ...(q.trim() && { q: q.trim() }),
    ...(sort && { sort }),
    ...(archived && { archived }),
    ...(experiment !== undefined && { experiment }),
    ...(runs && { run: [...runs] }),
    column: columns,
    ...(skipUnknown && { skip_unknown: true }),
    ...part,
  };
  return body(client.GET("/api/v1/runs/table", { params: { query }, ...(signal && { signal }) }));
}

/** Return all rows of the table, a page at a time: each row once, also while runs come and go. */
export async function fetchAllRows(asked: Asked, most: number): Promise<TableRow[]> {
  const rows = new Map<number, TableRow>();
  let after: string | null = null;
  do {
    const page: TablePage = await fetchRows(asked, { limit: 500, ...(after !== null && { after }) });
    for (const row of page.rows) rows.set(row.id, row);
    after = page.next ?? null;
  } while (after !== null && rows.size < most);
  return [...rows.values()].slice(0, most);
}

function pagesOf(first: number, last: number): number[] {
  const [from, to] = [Math.floor(Math.max(0, first) / PAGE), Math.floor(Math.max(0, last) / PAGE)];
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
