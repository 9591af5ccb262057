/** All series of a run: those beyond the first answer in parts, which are asked for once a chart needs them. */
import { useCallback, useMemo, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import { type Curve, refine } from "@/shared/curves/curve";
import type { StepRange } from "@/shared/curves/view";
import { systemOf } from "@/shared/series/names";
import { MOST_SERIES, useNamedSeries } from "./useNamedSeries";
import { type Points, type Series, usePoints } from "./usePoints";

export interface AllSeries {
  names: readonly string[]; // of all series, those of the first answer first
  series: Series; // as far as they have arrived: whole, with finer buckets in the zoomed range
  error: Error | null; // of those beyond the first answer
  ask: (names: readonly string[]) => void;
}

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
