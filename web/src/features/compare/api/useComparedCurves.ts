/** GET /runs/curves: one series of all compared runs in one request. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { ComparedCurve } from "@/shared/api/types";
import { bucketsOf, rangeQuery, type StepRange } from "@/shared/curves/view";

export type CurvesById = ReadonlyMap<number, ComparedCurve>;

const NONE: CurvesById = new Map();
const NAME_PART = 2; // of the query's key
const MOST_BUCKETS = 400; // of a curve: a picture of many curves needs no more

/** Return the curves; none without a name. */
export function useComparedCurves(
  ids: readonly number[],
  name: string | null,
  isLive: boolean,
  range: StepRange = null,
) {
  const view = rangeQuery(range);
  const pollInterval = usePollInterval();
  const buckets = Math.min(MOST_BUCKETS, bucketsOf(0.5));
  const { data, error } = useQuery({
    queryKey: keys.comparedCurves(ids, name ?? "", [buckets, view.from ?? 0, view.to ?? null]),
    queryFn:
      name === null
        ? skipToken
        : async ({ signal }) => {
            const params = { query: { run: [...ids], name, buckets, ...view } };
            const { curves } = await body(client.GET("/api/v1/runs/curves", { params, signal }));
            return new Map(curves.map((curve) => [curve.run_id, curve]));
          },
    // of other runs or another part, but not of another series
    placeholderData: (before, earlier) => (earlier?.queryKey[NAME_PART] === name ? before : undefined),
    refetchInterval: isLive ? pollInterval(false) : false,
    structuralSharing: false, // comparing whole columns costs more than drawing them
    retry: false,
  });
  return { curves: data ?? NONE, isKnown: name === null || data !== undefined, error };
}
