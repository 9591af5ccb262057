/** GET /experiments/{id}/curves: one series of all runs in buckets; each poll appends new points. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { hasPrefix, keys } from "@/shared/api/keys";
import { type Curve, grow, isTooFine, lastBucket } from "./curve";
import { bucketsOf, rangeQuery, type StepRange } from "./view";

export type Curves = ReadonlyMap<number, Curve>;

const NONE: Curves = new Map();

interface Options {
  every: number | false; // milliseconds between two polls
  restarts?: number; // changes when a run restarts and repeats steps
  range?: StepRange;
  buckets?: number;
}

/** Poll the curves of an experiment. */
export function useCurves(
  experimentId: number,
  name: string,
  { every, restarts = 0, range = null, buckets = bucketsOf() }: Options,
): Curves {
  const view = { name, buckets, ...rangeQuery(range) };
  const key = keys.experimentCurves(experimentId, name, restarts, [buckets, view.from ?? 0, view.to ?? null]);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ client: cache, signal }) =>
      fetchNewBuckets(experimentId, view, cache.getQueryData<Curves>(key) ?? NONE, signal),
    placeholderData: (before, earlier) =>
      hasPrefix(earlier?.queryKey, keys.experimentSeries(experimentId, name)) ? before : undefined,
    refetchInterval: every,
    structuralSharing: false, // comparing whole columns costs more than drawing them
  });
  return query.data ?? NONE;
}

interface CurveView {
  name: string;
  buckets: number;
  from?: number;
  to?: number;
}

/** Return `known` with all newer points; return `known` itself when there are none. */
async function fetchNewBuckets(
  experimentId: number,
  view: CurveView,
  known: Curves,
  signal: AbortSignal,
): Promise<Curves> {
  const tooFine = [...known.values()].some((curve) => isTooFine(curve, view.buckets));
  const base = tooFine ? NONE : known;
  const after = [...base].flatMap(([run, curve]) =>
    lastBucket(curve) > 0 ? `${run}:${lastBucket(curve) - 1}` : [],
  );
  const params = { path: { experiment_id: experimentId }, query: { ...view, after } };
  const answer = await body(client.GET("/api/v1/experiments/{experiment_id}/curves", { params, signal }));
  const fresh = answer.curves.filter((curve) => !isKnown(base.get(curve.run_id), curve.last_step));
  if (!fresh.length) return base;
  const grown = new Map(base);
  for (const curve of fresh) grown.set(curve.run_id, grow(grown.get(curve.run_id), curve));
  return grown;
}

/** Return whether a curve has not grown since it was read. */
function isKnown(curve: Curve | undefined, end: number): boolean {
  return curve?.end === end;
}
