/** GET /runs/{id}/size and /experiments/{id}/size: what a deletion would remove. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Target } from "@/shared/api/target";
import type { StoredSize } from "@/shared/api/types";

export function useSize(target: Target) {
  return useQuery({
    queryKey: keys.size(target),
    queryFn: ({ signal }) => sizeOf(target, signal),
    gcTime: 0, // a run may have written more since
  });
}

function sizeOf({ kind, id }: Target, signal: AbortSignal): Promise<StoredSize> {
  if (kind === "run") {
    const params = { path: { run_id: id } };
    return body(client.GET("/api/v1/runs/{run_id}/size", { params, signal }));
  }
  const params = { path: { experiment_id: id } };
  return body(client.GET("/api/v1/experiments/{experiment_id}/size", { params, signal }));
}
