/** What the page compares and shows, as its address has it: every view is a link. */
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { keys } from "@/shared/api/keys";
import { MOST_COMPARED } from "@/shared/run-table/addresses";
import { type Asked, fetchRows } from "@/shared/run-table/useRunTable";
import { type Panel, panelText, readPanel } from "./panels/panels";

export interface CompareState {
  runs: number[];
  where: string; // a query, for a page without chosen runs
  group: string[] | null; // fields by which runs are grouped; null: the default ones
  panels: Panel[] | null; // null: the default ones
  metric: string; // of the table of values; empty: the default one
}

export function readCompareState(search: URLSearchParams): CompareState {
  const panels = search.getAll("panel");
  return {
    runs: readIds(search.get("runs") ?? ""),
    where: search.get("where") ?? "",
    group: listOf(search, "group"),
    panels: panels.length ? panels.flatMap((text) => readPanel(text) ?? []) : null,
    metric: search.get("metric") ?? "",
  };
}

/** Return the ids in a text such as "12, 15 40"; other words are left out, and an id counts once. */
export function readIds(text: string): number[] {
  const words = text.split(/[^0-9]+/).filter((word) => /^[0-9]{1,9}$/.test(word));
  return [...new Set(words.map(Number))];
}

/** Return the parameters of the address with a changed state; others stay. */
export function writeCompareState(search: URLSearchParams, change: Partial<CompareState>): URLSearchParams {
  const state = { ...readCompareState(search), ...change };
  const written = new URLSearchParams(search);
  const set = (name: string, values: readonly string[] | null) => {
    written.delete(name);
    // an empty value stands for an empty list, no value for the default
    for (const value of values?.length === 0 ? [""] : (values ?? [])) written.append(name, value);
  };
  set("runs", state.runs.length ? [state.runs.join(",")] : null);
  set("where", state.where ? [state.where] : null);
  set("group", state.group);
  if ("group" in change) written.delete("hidden"); // the groups of another grouping have other keys
  set("panel", state.panels?.map(panelText) ?? null);
  set("metric", state.metric ? [state.metric] : null);
  return written;
}

export function useCompareState(): [CompareState, (change: Partial<CompareState>) => void] {
  const [search, setSearch] = useSearchParams();
  const change = (part: Partial<CompareState>) => {
    // another choice of runs is another page of the history
    setSearch((before) => writeCompareState(before, part), { replace: !("runs" in part) });
  };
  return [readCompareState(search), change];
}

function listOf(search: URLSearchParams, name: string): string[] | null {
  const values = search.getAll(name);
  return values.length ? values.filter(Boolean) : null;
}

interface ChosenRuns {
  ids: number[] | null; // null: not known yet
  total: number; // of the query
  error: Error | null;
}

/** The ids of the compared runs: those of the address, or those of its query. */
export function useChosenRuns({ runs, where }: Pick<CompareState, "runs" | "where">): ChosenRuns {
  const asked: Asked = { where, q: "", sort: "", columns: [], archived: false };
  const isQuery = !runs.length && where.trim() !== "";
  const { data, error } = useQuery({
    queryKey: keys.runTable(asked, 0),
    queryFn: ({ signal }) => fetchRows(asked, { limit: MOST_COMPARED }, signal),
    enabled: isQuery,
    retry: false,
  });
  if (!isQuery) return { ids: runs.slice(0, MOST_COMPARED), total: runs.length, error: null };
  // the newest run comes first in a table, the oldest in a comparison
  const ids = data?.rows.map(({ id }) => id).toReversed();
  return { ids: ids ?? null, total: data?.total ?? 0, error };
}
