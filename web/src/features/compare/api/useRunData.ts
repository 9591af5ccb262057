/** The rows of the compared runs with the fields that the page shows: one request for all of them. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { TablePage } from "@/shared/api/types";
import { type Asked, fetchRows } from "@/shared/run-table/useRunTable";
import { MOST_COMPARED } from "@/shared/run-table/addresses";
import { hasEnded } from "@/shared/state/state";
import { RunData } from "../groups/runData";

const EMPTY: TablePage = { total: 0, offset: 0, columns: [], rows: [] };

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
