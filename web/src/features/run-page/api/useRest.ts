/** The series of a run beyond those that the first answer has, in parts that are asked for once a chart needs them. */
import { useCallback, useMemo, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import type { StepRange } from "@/shared/curves/view";
import { systemOf } from "@/shared/series/system";
import { MOST_SERIES, useNamedSeries } from "./useNamedSeries";
import type { Points, Series } from "./usePoints";

interface Rest {
  names: readonly string[]; // of all series, those of the first answer first
  series: Series; // beyond the first answer, as far as they have arrived
  error: Error | null;
  ask: (names: readonly string[]) => void;
}

export function useRest(run: RunDetail, { series, isPending }: Points, range: StepRange): Rest {
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
  const found = useNamedSeries(run, shown, range);
  return { names, series: found.series, error: found.error, ask };
}
