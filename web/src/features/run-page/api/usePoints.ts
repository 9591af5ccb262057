/** GET /runs/{id}/points: all series of a run; each poll appends new points. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { hasPrefix, keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";
import type { Column, RunDetail } from "@/shared/api/types";
import { append, lastStep } from "@/shared/curves/column";
import { hasEnded } from "@/shared/state/state";

export type Series = Readonly<Record<string, Column>>;

export interface Points {
  series: Series;
  isPending: boolean; // no answer has arrived yet
  error: Error | null; // of the newest request
}

const NONE: Series = {};

export function usePoints(run: RunDetail): Points {
  // A new attempt repeats steps, so its points replace the known ones.
  const key = keys.attemptPoints(run.id, run.attempt);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ client: cache, signal }) =>
      fetchNewPoints(run.id, cache.getQueryData<Series>(key) ?? NONE, signal),
    placeholderData: (before, earlier) =>
      hasPrefix(earlier?.queryKey, keys.runPoints(run.id)) ? before : undefined,
    refetchInterval: pollInterval(!hasEnded(run.state)),
    structuralSharing: false, // comparing whole columns costs more than drawing them
  });
  return { series: query.data ?? NONE, isPending: query.isPending, error: query.error };
}

/** Return `known` with all newer points; return `known` itself when there are none. */
async function fetchNewPoints(runId: number, known: Series, signal: AbortSignal): Promise<Series> {
  let series = known;
  // Series of an epoch's end may arrive later than other series of the same step, so request the last step again.
  let after = Math.max(-1, ...Object.values(known).map(lastStep)) - 1;
  for (;;) {
    const params = { path: { run_id: runId }, query: { after: Math.max(-1, after) } };
    const answer = await body(client.GET("/api/v1/runs/{run_id}/points", { params, signal }));
    series = appendPoints(series, answer.series, after);
    if (!answer.more) return series;
    after = Math.max(...Object.values(answer.series).map(lastStep));
  }
}

function appendPoints(known: Series, fresh: Series, after: number): Series {
  const columns = Object.entries(fresh).map(([name, column]): [string, Column] => {
    const old = known[name];
    return [name, old && hasSameEnd(old, column, after) ? old : append(old, column, after)];
  });
  return columns.every(([name, column]) => known[name] === column) ? known : Object.fromEntries(columns);
}

/** Return whether the answer has no points beyond the last known step. */
function hasSameEnd(known: Column, fresh: Column, after: number): boolean {
  return lastStep(known) <= after
    ? !fresh.steps.length
    : fresh.steps.length === 1 && lastStep(known) === lastStep(fresh);
}
