/** The button that lets ended runs go on as their next attempts. */
import type { Target } from "@/shared/api/target";
import type { RetryResult } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { type Retried, useRetry } from "./api/useRetry";

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
