/** POST /runs/{id}/restore and /experiments/{id}/restore: undo deletions. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Target } from "@/shared/api/target";

/** Restore one after the other; the first refusal ends the request with its reason. */
export function useRestore() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async (targets: readonly Target[]) => {
      for (const target of targets) await restore(target);
    },
    // lists, tables, pages of the runs: whatever is open may show what came back
    onSettled: () => cache.invalidateQueries(),
  });
}

function restore({ kind, id }: Target) {
  if (kind === "run")
    return body(client.POST("/api/v1/runs/{run_id}/restore", { params: { path: { run_id: id } } }));
  const params = { path: { experiment_id: id } };
  return body(client.POST("/api/v1/experiments/{experiment_id}/restore", { params }));
}
