/** POST /experiments/{id}/stop: request the stop of all runs of an experiment. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useStopExperiment(id: number) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => {
      const params = { path: { experiment_id: id } };
      return body(client.POST("/api/v1/experiments/{experiment_id}/stop", { params }));
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.experiment(id) }),
  });
}

/** POST /runs/{id}/stop: request the stop of a run. */
export function useStopRun(id: number) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => body(client.POST("/api/v1/runs/{run_id}/stop", { params: { path: { run_id: id } } })),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.run(id), exact: true }),
  });
}
