/** The selected rows of a table of runs: they stay selected while the reader scrolls, sorts and filters. */
import { useCallback, useState } from "react";
import type { TableRow } from "@/shared/api/types";
import { type Asked, fetchAllRows } from "./useRunTable";

export const MOST_SELECTED = 1000; // runs of one selection

export type SelectedRun = Pick<TableRow, "id" | "experiment_id" | "state">;

export interface RowSelection {
  ids: ReadonlySet<number>;
  runs: SelectedRun[];
  isLoading: boolean;
  toggle: (run: SelectedRun) => void;
  selectAll: (asked: Asked) => Promise<void>;
  clear: () => void;
  refresh: (rows: readonly SelectedRun[]) => void; // the states of rows as they are now
}

const NONE: ReadonlyMap<number, SelectedRun> = new Map();

export function useRowSelection(): RowSelection {
  const [chosen, setChosen] = useState(NONE);
  const [isLoading, setLoading] = useState(false);
  const toggle = useCallback((run: SelectedRun) => {
    setChosen((before) => {
      const after = new Map(before);
      if (!after.delete(run.id) && after.size < MOST_SELECTED) after.set(run.id, run);
      return after;
    });
  }, []);
  const selectAll = useCallback(async (asked: Asked) => {
    setLoading(true);
    try {
      const rows = await fetchAllRows({ ...asked, columns: [] }, MOST_SELECTED);
      setChosen(new Map(rows.map((row) => [row.id, row])));
    } finally {
      setLoading(false);
    }
  }, []);
  const clear = useCallback(() => {
    setChosen(NONE);
  }, []);
  const refresh = useCallback((rows: readonly SelectedRun[]) => {
    setChosen((before) => {
      const changed = rows.filter(({ id, state }) => (before.get(id)?.state ?? state) !== state);
      return changed.length ? new Map([...before, ...changed.map((row) => [row.id, row] as const)]) : before;
    });
  }, []);
  const runs = [...chosen.values()];
  return { ids: new Set(chosen.keys()), runs, isLoading, toggle, selectAll, clear, refresh };
}
