/** What a table of runs shows, as the address of the page has it: every view is a link. */
import { useSearchParams } from "wouter";

export interface TableState {
  where: string;
  q: string;
  sort: string;
  columns: string[] | null; // null: the default columns
  archived: boolean;
  group: string[]; // fields of the grouping; empty: the table has a row for each run
  groupSort: string;
  open: string; // the query of the open group
}

export function readState(search: URLSearchParams): TableState {
  const columns = search.get("columns");
  return {
    where: search.get("where") ?? "",
    q: search.get("q") ?? "",
    sort: search.get("sort") ?? "",
    columns: columns === null ? null : columns.split(",").filter(Boolean),
    archived: search.get("archived") === "true",
    group: (search.get("group") ?? "").split(",").filter(Boolean),
    groupSort: search.get("group_sort") ?? "",
    open: search.get("open") ?? "",
  };
}

/** Return the parameters of the address with a changed state; others stay. */
export function writeState(search: URLSearchParams, change: Partial<TableState>): URLSearchParams {
  const { where, q, sort, columns, archived, group, groupSort, open } = { ...readState(search), ...change };
  const written = new URLSearchParams(search);
  const values = {
    where,
    q,
    sort,
    columns: columns?.join(",") ?? "",
    archived: archived ? "true" : "",
    group: group.join(","),
    group_sort: groupSort,
    open,
  };
  for (const [name, value] of Object.entries(values)) {
    if (value) written.set(name, value);
    else written.delete(name);
  }
  return written;
}

export function useTableState(): [TableState, (change: Partial<TableState>) => void] {
  const [search, setSearch] = useSearchParams();
  const change = (part: Partial<TableState>) => {
    setSearch((before) => writeState(before, part), { replace: "q" in part });
  };
  return [readState(search), change];
}
