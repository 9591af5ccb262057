/** Ask again for all that a change of a run or an experiment may alter. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { keys } from "@/shared/api/keys";

export function useRefresh(experimentId: number, runId?: number): () => Promise<unknown> {
  const cache = useQueryClient();
  return useCallback(() => {
    const changed = [keys.experiment(experimentId), keys.experimentLists()];
    if (runId !== undefined) changed.push(keys.run(runId));
    return Promise.all(changed.map((queryKey) => cache.invalidateQueries({ queryKey })));
  }, [cache, experimentId, runId]);
}
