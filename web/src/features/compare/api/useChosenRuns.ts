/** The ids of the compared runs: those of the address, or those of its query. */
import { useQuery } from "@tanstack/react-query";
import { keys } from "@/shared/api/keys";
import { type Asked, fetchRows } from "@/shared/run-table/useRunTable";
import { MOST_COMPARED } from "@/shared/run-table/addresses";
import type { CompareState } from "../state/useCompareState";

interface ChosenRuns {
  ids: number[] | null; // null: not known yet
  total: number; // of the query
  error: Error | null;
}

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
