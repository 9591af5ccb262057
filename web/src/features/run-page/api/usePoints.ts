/** GET /runs/{id}/points: all series of a run, growing by what is new. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";
import type { Column, RunDetail } from "@/shared/api/types";
import { append, lastStep } from "@/shared/curves/column";
import { hasEnded } from "@/shared/state/state";

export type Series = Readonly<Record<string, Column>>;

const NONE: Series = {};

export function usePoints(run: RunDetail): Series {
  // a new attempt tells steps again that are known already
  const key = ["run", run.id, "points", run.attempt];
  const query = useQuery({
    queryKey: key,
    queryFn: ({ client: cache, signal }) => moreOf(run.id, cache.getQueryData<Series>(key) ?? NONE, signal),
    placeholderData: (before, earlier) => (earlier?.queryKey[1] === run.id ? before : undefined),
    refetchInterval: pace(!hasEnded(run.state)),
    structuralSharing: false, // comparing whole columns every second would cost more than drawing them
  });
  return query.data ?? NONE;
}

/** `known` and what has come since; `known` itself when nothing has. */
async function moreOf(runId: number, known: Series, signal: AbortSignal): Promise<Series> {
  let series = known;
  // what is measured at the end of an epoch may come after the rest of that step, so the last step is asked for again
  let after = Math.max(-1, ...Object.values(known).map(lastStep)) - 1;
  for (;;) {
    const params = { path: { run_id: runId }, query: { after: Math.max(-1, after) } };
    const answer = await body(client.GET("/api/v1/runs/{run_id}/points", { params, signal }));
    series = grown(series, answer.series, after);
    if (!answer.more) return series;
    after = Math.max(...Object.values(answer.series).map(lastStep));
  }
}

function grown(known: Series, fresh: Series, after: number): Series {
  const columns = Object.entries(fresh).map(([name, column]): [string, Column] => {
    const old = known[name];
    return [name, old && sameEnd(old, column, after) ? old : append(old, column, after)];
  });
  return columns.every(([name, column]) => known[name] === column) ? known : Object.fromEntries(columns);
}

/** Nothing came but the last step, which is known. */
function sameEnd(known: Column, fresh: Column, after: number): boolean {
  return lastStep(known) <= after
    ? !fresh.steps.length
    : fresh.steps.length === 1 && lastStep(known) === lastStep(fresh);
}
