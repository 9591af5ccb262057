/** GET /runs/{id}/curves: the series of a run in buckets; each poll appends new points. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { hasPrefix, keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { RunDetail } from "@/shared/api/types";
import { type Curve, grow, isTooFine, lastBucket } from "@/shared/curves/curve";
import { bucketsOf, rangeQuery, type StepRange } from "@/shared/curves/view";
import { hasEnded } from "@/shared/state/state";

/** Curves by their names, which may be any: a plain object has some of its own, such as "constructor". */
export type Series = ReadonlyMap<string, Curve>;

export interface Points {
  series: Series;
  isPending: boolean; // no answer has arrived yet
  error: Error | null; // of the newest request
}

const NONE: Series = new Map();
const SHARE = 0.5; // of the window's width: two charts side by side

export function usePoints(run: RunDetail, range: StepRange = null): Points {
  const pollInterval = usePollInterval();
  const view = { buckets: bucketsOf(SHARE), ...rangeQuery(range) };
  // A new attempt repeats steps, so its points replace the known ones.
  const key = keys.attemptCurves(run.id, run.attempt, [view.buckets, view.from ?? 0, view.to ?? null]);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ client: cache, signal }) =>
      fetchNewBuckets(run.id, view, cache.getQueryData<Series>(key) ?? NONE, signal),
    placeholderData: (before, earlier) =>
      hasPrefix(earlier?.queryKey, keys.runPoints(run.id)) ? before : undefined,
    refetchInterval: pollInterval(!hasEnded(run.state)),
    structuralSharing: false, // comparing whole columns costs more than drawing them
  });
  return { series: query.data ?? NONE, isPending: query.isPending, error: query.error };
}

interface CurveView {
  buckets: number;
  from?: number;
  to?: number;
}

/** Return `known` with all newer points; return `known` itself when there are none. */
async function fetchNewBuckets(
  runId: number,
  view: CurveView,
  known: Series,
  signal: AbortSignal,
): Promise<Series> {
  const tooFine = [...known.values()].some((curve) => isTooFine(curve, view.buckets));
  const base = tooFine ? NONE : known;
  // Series of an epoch's end may arrive later than other series of the same step, so request the last step again.
  const from = Math.max(view.from ?? 0, ...[...base.values()].map(lastBucket));
  const params = { path: { run_id: runId }, query: { ...view, from } };
  const answer = await body(client.GET("/api/v1/runs/{run_id}/curves", { params, signal }));
  const fresh = Object.entries(answer.series).filter(
    ([name, curve]) => base.get(name)?.end !== curve.last_step,
  );
  if (!fresh.length) return base;
  return new Map([...base, ...fresh.map(([name, curve]) => [name, grow(base.get(name), curve)] as const)]);
}
