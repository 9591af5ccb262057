/** The held-out accuracy of all runs at the size of a word: its best run stands out. */
import { useEffect, useMemo, useState } from "react";
import type { Column } from "@/shared/api/types";
import { type Curves, useCurves } from "@/shared/curves/useCurves";
import { HELDOUT_ACCURACY } from "@/shared/series/catalog";

const WIDTH = 132;
const HEIGHT = 38;
const REFRESH_MS = 3000;
const LINGER_MS = REFRESH_MS * 1.5; // at least one refresh

interface Props {
  experimentId: number;
  live: boolean;
}

export function Thumbnail({ experimentId, live }: Props) {
  const curves = useCurves(experimentId, HELDOUT_ACCURACY, useLingering(live) && REFRESH_MS);
  const paths = useMemo(() => pathsOf(curves), [curves]);
  return (
    <svg
      className="thumbnail"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
    >
      <path d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} className="thumbnail-floor" />
      {paths.map((path, index) => (
        <path
          key={index}
          d={path}
          className={index === paths.length - 1 ? "thumbnail-best" : "thumbnail-run"}
        />
      ))}
    </svg>
  );
}

/** True while `live` and a little longer: the last points may come after the word of the end. */
function useLingering(live: boolean): boolean {
  const [lingers, setLingers] = useState(live);
  useEffect(() => {
    const timer = setTimeout(
      () => {
        setLingers(live);
      },
      live ? 0 : LINGER_MS,
    );
    return () => {
      clearTimeout(timer);
    };
  }, [live]);
  return live || lingers;
}

/** One path per run with at least two values, the best run's last, that is on top. */
function pathsOf(curves: Curves): string[] {
  const columns = [...curves.values()].filter((column) => column.steps.length > 1);
  const width = Math.max(...columns.map((column) => column.steps.at(-1) ?? 0));
  const best = (column: Column) => Math.max(...column.values.map((value) => value ?? 0));
  const ordered = columns.toSorted((a, b) => best(a) - best(b));
  return ordered.map(({ steps, values }) => {
    const points = steps.flatMap((step, index) => {
      const value = values[index];
      if (value === null || value === undefined) return [];
      return `${((step / width) * (WIDTH - 2) + 1).toFixed(1)} ${(HEIGHT - 2 - value * (HEIGHT - 4)).toFixed(1)}`;
    });
    return `M${points.join("L")}`;
  });
}
