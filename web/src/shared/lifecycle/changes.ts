/** Changes of a run or an experiment. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Target } from "@/shared/api/target";
import type { ExperimentChange, RunChange } from "@/shared/api/types";

export type Change = Partial<ExperimentChange & RunChange>;

/** PATCH /runs/{id} and /experiments/{id}: change names, notes, tags, owner, project and the archive. */
export function useLabels(target: Target, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (change: Change) => patch(target, change),
    onSuccess: refresh,
  });
}

/** Send the change; a field that it lacks stays as it is. */
async function patch({ kind, id }: Target, change: Change): Promise<void> {
  if (kind === "run") {
    const params = { path: { run_id: id } };
    await body(client.PATCH("/api/v1/runs/{run_id}", { params, body: change as RunChange }));
    return;
  }
  const params = { path: { experiment_id: id } };
  await body(
    client.PATCH("/api/v1/experiments/{experiment_id}", { params, body: change as ExperimentChange }),
  );
}

/** Ask again for all that a change of a run or an experiment may alter. */
export function useRefresh(experimentId: number, runId?: number): () => Promise<unknown> {
  const cache = useQueryClient();
  return useCallback(() => {
    const changed = [keys.experiment(experimentId), keys.experimentLists()];
    if (runId !== undefined) changed.push(keys.run(runId));
    return Promise.all(changed.map((queryKey) => cache.invalidateQueries({ queryKey })));
  }, [cache, experimentId, runId]);
}
