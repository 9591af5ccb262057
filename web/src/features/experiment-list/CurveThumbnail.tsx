/** A thumbnail of the held-out accuracy of all runs, with the best run in color. */
import { useEffect, useMemo, useState } from "react";
import type { Column } from "@/shared/api/types";
import { type Curves, useCurves } from "@/shared/curves/useCurves";
import { HELDOUT_ACCURACY } from "@/shared/series/catalog";
import styles from "./CurveThumbnail.module.css";

const WIDTH = 132;
const HEIGHT = 38;
const REFRESH_MS = 3000;
const LINGER_MS = REFRESH_MS * 1.5; // at least one more refresh

interface Props {
  experimentId: number;
  live: boolean;
}

export function CurveThumbnail({ experimentId, live }: Props) {
  const curves = useCurves(experimentId, HELDOUT_ACCURACY, useLingering(live) && REFRESH_MS);
  const paths = useMemo(() => pathsOf(curves), [curves]);
  return (
    <svg
      className={styles.thumbnail}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
    >
      <path d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} className={styles.baseline} />
      {paths.map((path, index) => (
        <path
          key={index}
          d={path}
          className={index === paths.length - 1 ? styles.bestCurve : styles.runCurve}
        />
      ))}
    </svg>
  );
}

/** Return true while `live` and a little longer: the last points may arrive after the end of the run. */
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

/** Return a path for each run with at least two values; the best run comes last, on top of the others. */
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
