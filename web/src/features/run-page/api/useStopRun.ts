/** POST /runs/{id}/stop: request the stop of a run. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useStopRun(id: number) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => body(client.POST("/api/v1/runs/{run_id}/stop", { params: { path: { run_id: id } } })),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.run(id), exact: true }),
  });
}
