/** The button that lets ended runs go on as their next attempts. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Target } from "@/shared/api/target";
import type { RetryResult } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";

interface Props {
  target: Target;
  states: Retried[];
  label: string;
  refresh: () => Promise<unknown>;
  onResult: (text: string) => void; // what happened, or why nothing did
}

export function RetryButton({ target, states, label, refresh, onResult }: Props) {
  const retry = useRetry(target, refresh, (result) => {
    onResult(result instanceof Error ? `The request failed: ${result.message}` : retryText(result));
  });
  return (
    <button
      className="button"
      disabled={retry.isPending}
      onClick={() => {
        retry.mutate(states);
      }}
    >
      {label}
    </button>
  );
}

/** Return "3 runs queued; 1 of them starts after the end of its last job", or why no run is queued. */
function retryText({ queued, waiting, unchanged }: RetryResult): string {
  if (!queued.length) return `No run queued: ${reasonsText(unchanged) || "there is none to retry"}`;
  const later = waiting.length ? `; ${waiting.length} of them after the end of their last jobs` : "";
  return `${pluralize(queued.length, "run")} queued${later}`;
}

function reasonsText(unchanged: RetryResult["unchanged"]): string {
  return [...new Set(unchanged.map(({ why }) => why))].join(", ");
}

type Retried = "failed" | "cancelled";

/**
 * POST /runs/{id}/retry and /experiments/{id}/retry: let ended runs go on as their next attempts.
 *
 * `onResult` gets the answer also when the button has disappeared, because its run is queued again.
 */
function useRetry(
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
