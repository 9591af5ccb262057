/** POST /experiments/{id}/stop: ask that all its runs stop. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

export function useStopExperiment(id: number) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => {
      const params = { path: { experiment_id: id } };
      return body(client.POST("/api/v1/experiments/{experiment_id}/stop", { params }));
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: ["experiment", id] }),
  });
}
