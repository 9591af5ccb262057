/** GET /experiments/{id}/points: one series of all runs; each poll appends new points. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { hasPrefix, keys } from "@/shared/api/keys";
import type { Column } from "@/shared/api/types";
import { append, lastStep } from "./column";

export type Curves = ReadonlyMap<number, Column>;

const NONE: Curves = new Map();

/** Poll the curves; `restarts` changes when a run restarts and repeats steps. */
export function useCurves(experimentId: number, name: string, every: number | false, restarts = 0): Curves {
  const key = keys.experimentCurves(experimentId, name, restarts);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ client: cache, signal }) =>
      fetchNewPoints(experimentId, name, cache.getQueryData<Curves>(key) ?? NONE, signal),
    placeholderData: (before, earlier) =>
      hasPrefix(earlier?.queryKey, keys.experimentSeries(experimentId, name)) ? before : undefined,
    refetchInterval: every,
    structuralSharing: false, // comparing whole columns costs more than drawing them
  });
  return query.data ?? NONE;
}

/** Return `known` with all newer points; return `known` itself when there are none. */
async function fetchNewPoints(
  experimentId: number,
  name: string,
  known: Curves,
  signal: AbortSignal,
): Promise<Curves> {
  let curves = known;
  for (;;) {
    const after = [...curves].map(([run, column]) => `${run}:${lastStep(column)}`);
    const params = { path: { experiment_id: experimentId }, query: { name, after } };
    const answer = await body(client.GET("/api/v1/experiments/{experiment_id}/points", { params, signal }));
    const grown = new Map(curves);
    for (const { run_id, steps, values } of answer.curves) {
      const old = grown.get(run_id);
      grown.set(run_id, append(old, { steps, values }, lastStep(old)));
    }
    if (answer.curves.length) curves = grown;
    if (!answer.more || !answer.curves.length) return curves;
  }
}
