/** The series of a run: those of its attempt, and those that a page asks for by name. */
import { keepPreviousData, useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { body, client } from "@/shared/api/client";
import { hasPrefix, keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { RunDetail } from "@/shared/api/types";
import { type Curve, grow, isTooFine, lastBucket, refine } from "@/shared/curves/curve";
import { bucketsOf, rangeQuery, type StepRange } from "@/shared/curves/view";
import { systemOf } from "@/shared/series/names";
import { hasEnded } from "@/shared/state/state";

export interface AllSeries {
  names: readonly string[]; // of all series, those of the first answer first
  series: Series; // as far as they have arrived: whole, with finer buckets in the zoomed range
  error: Error | null; // of those beyond the first answer
  ask: (names: readonly string[]) => void;
}

/** All series of a run: those beyond the first answer in parts, which are asked for once a chart needs them. */
export function useAllSeries(run: RunDetail, points: Points, range: StepRange): AllSeries {
  const finer = usePoints(run, range).series;
  const { names, shown, ask } = useRest(run, points);
  // the whole as well: a zoomed range may have no point of a series, and never has to have its newest one
  const whole = useNamedSeries(run, shown);
  const part = useNamedSeries(run, shown, range);
  const series = useMemo(
    () => refineAll([...points.series, ...whole.series], new Map([...finer, ...part.series])),
    [points.series, whole.series, finer, part.series],
  );
  return { names, series, error: whole.error ?? part.error, ask };
}

/** Return the names of all series, and which of those beyond the first answer some chart needs. */
function useRest(run: RunDetail, { series, isPending }: Points) {
  const [parts, setParts] = useState<ReadonlySet<number>>(new Set());
  const known = JSON.stringify([...series.keys()]);
  const own = JSON.stringify(run.series.filter((name) => !systemOf(name)));
  const { names, rest } = useMemo(() => {
    const first = JSON.parse(known) as string[];
    const all = JSON.parse(own) as string[];
    // before the first answer it is unknown which series it has
    const rest = isPending || all.length <= MOST_SERIES ? [] : all.filter((name) => !first.includes(name));
    return { names: [...new Set([...first, ...rest])], rest };
  }, [known, own, isPending]);
  const ask = useCallback(
    (wanted: readonly string[]) => {
      const asked = wanted.map((name) => rest.indexOf(name)).filter((at) => at >= 0);
      const numbers = asked.map((at) => Math.floor(at / MOST_SERIES));
      setParts((before) =>
        numbers.every((one) => before.has(one)) ? before : new Set([...before, ...numbers]),
      );
    },
    [rest],
  );
  const shown = [...parts]
    .toSorted((one, other) => one - other)
    .flatMap((part) => rest.slice(part * MOST_SERIES, (part + 1) * MOST_SERIES));
  return { names, shown, ask };
}

function refineAll(whole: readonly (readonly [string, Curve])[], finer: Series): Series {
  return new Map(whole.map(([name, curve]) => [name, refine(curve, finer.get(name))]));
}

const EVERY_MS = 15_000; // as often as nodes measure
const MOST_SERIES = 50; // of one request
const SHARE = 0.5; // of the window's width: two charts side by side

interface Found {
  series: Series; // of the answers that are there
  isPending: boolean; // an answer is missing
  error: Error | null;
}

/** GET /runs/{id}/curves of named series, in as many requests as they need: an answer has few of them. */
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

/** Curves by their names, which may be any: a plain object has some of its own, such as "constructor". */
export type Series = ReadonlyMap<string, Curve>;

export interface Points {
  series: Series;
  isPending: boolean; // no answer has arrived yet
  error: Error | null; // of the newest request
}

const NONE: Series = new Map();

/** GET /runs/{id}/curves: the series of a run in buckets; each poll appends new points. */
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
