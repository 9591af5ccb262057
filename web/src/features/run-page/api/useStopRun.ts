/** POST /runs/{id}/stop: ask that the run stop. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";

export function useStopRun(id: number) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => body(client.POST("/api/v1/runs/{run_id}/stop", { params: { path: { run_id: id } } })),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["run", id], exact: true }),
  });
}
