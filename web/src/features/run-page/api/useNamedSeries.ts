/** GET /runs/{id}/curves of named series, in as many requests as they need: an answer has few of them. */
import { keepPreviousData, useQueries, type UseQueryResult } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { RunDetail } from "@/shared/api/types";
import { grow } from "@/shared/curves/curve";
import { bucketsOf, rangeQuery, type StepRange } from "@/shared/curves/view";
import { hasEnded } from "@/shared/state/state";
import type { Series } from "./usePoints";

const EVERY_MS = 15_000; // as often as nodes measure
export const MOST_SERIES = 50; // of one request
const SHARE = 0.5; // of the window's width: two charts side by side

interface Found {
  series: Series; // of the answers that are there
  isPending: boolean; // an answer is missing
  error: Error | null;
}

export function useNamedSeries(run: RunDetail, names: readonly string[], range: StepRange = null): Found {
  const view = { buckets: bucketsOf(SHARE), ...rangeQuery(range) };
  return useQueries({
    queries: partsOf(names).map((name) => ({
      queryKey: keys.namedCurves(run.id, name, [view.buckets, view.from ?? 0, view.to ?? null]),
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Series> => {
        const params = { path: { run_id: run.id }, query: { name, ...view } };
        const answer = await body(client.GET("/api/v1/runs/{run_id}/curves", { params, signal }));
        return new Map(Object.entries(answer.series).map(([each, curve]) => [each, grow(undefined, curve)]));
      },
      placeholderData: keepPreviousData,
      refetchInterval: hasEnded(run.state) ? (false as const) : EVERY_MS,
      structuralSharing: false,
    })),
    combine: joined,
  });
}

/** A function of its own: a new one at each rendering would join anew. */
function joined(answers: UseQueryResult<Series>[]): Found {
  const parts = answers.map(({ data }) => data).filter((data) => data !== undefined);
  return {
    series: new Map(parts.flatMap((part) => [...part])),
    isPending: parts.length < answers.length,
    error: answers.find(({ error }) => error)?.error ?? null,
  };
}

function partsOf(names: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(names.length / MOST_SERIES) }, (_, at) =>
    names.slice(at * MOST_SERIES, (at + 1) * MOST_SERIES),
  );
}
