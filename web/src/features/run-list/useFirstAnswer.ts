/** What the page itself needs of the answer that its table of runs or of groups gets: the error, and the known columns. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { TablePage } from "@/shared/api/types";
import { type Asked, rowsQuery } from "@/shared/run-table/useRunTable";
import { type AskedGroups, useRunGroups } from "./groups/api/useRunGroups";

interface FirstAnswer {
  error: Error | null;
  page: TablePage | null; // null: no rows have come yet
}

/** Ask for the first rows, if the runs are not in groups, or for the groups. */
export function useFirstAnswer(asked: Asked, isGrouped: boolean, groups: AskedGroups | null): FirstAnswer {
  const rows = useQuery({
    ...rowsQuery(asked, 0),
    enabled: !isGrouped,
    placeholderData: keepPreviousData,
  });
  const grouped = useRunGroups(groups, false);
  if (isGrouped) return { error: grouped.error, page: null };
  return { error: rows.error, page: rows.data ?? null };
}
