/** GET /experiments/{id}/points: one series of all runs, growing by what is new. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Column } from "@/shared/api/types";
import { append, lastStep } from "./column";

export type Curves = ReadonlyMap<number, Column>;

const NONE: Curves = new Map();

/** `retold` changes when a run begins anew and tells steps again that are known already. */
export function useCurves(experimentId: number, name: string, every: number | false, retold = 0): Curves {
  const key = ["experiment", experimentId, "points", name, retold];
  const query = useQuery({
    queryKey: key,
    queryFn: ({ client: cache, signal }) =>
      moreOf(experimentId, name, cache.getQueryData<Curves>(key) ?? NONE, signal),
    placeholderData: (before, query) =>
      query?.queryKey[3] === name && query.queryKey[1] === experimentId ? before : undefined,
    refetchInterval: every,
    structuralSharing: false, // comparing whole columns every second would cost more than drawing them
  });
  return query.data ?? NONE;
}

/** `known` and what has come since; `known` itself when nothing has. */
async function moreOf(
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
