/** POST /runs/{id}/retry and /experiments/{id}/retry: let ended runs go on as their next attempts. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Target } from "@/shared/api/target";
import type { RetryResult } from "@/shared/api/types";

export type Retried = "failed" | "cancelled";

/** `onResult` gets the answer also when the button has disappeared, because its run is queued again. */
export function useRetry(
  target: Target,
  refresh: () => Promise<unknown>,
  onResult: (result: RetryResult | Error) => void,
) {
  return useMutation({
    mutationFn: (states: Retried[]) => retry(target, states),
    onSuccess: (result) => {
      onResult(result);
      return refresh();
    },
    onError: onResult,
  });
}

function retry({ kind, id }: Target, states: Retried[]): Promise<RetryResult> {
  const asked = { states, accept_new_data: false };
  if (kind === "run") {
    const params = { path: { run_id: id } };
    return body(client.POST("/api/v1/runs/{run_id}/retry", { params, body: asked }));
  }
  const params = { path: { experiment_id: id } };
  return body(client.POST("/api/v1/experiments/{experiment_id}/retry", { params, body: asked }));
}
