/** A thumbnail of one series of all runs, with one run in color: the most accurate one, or the last. */
import { useEffect, useMemo, useState } from "react";
import type { Column } from "@/shared/api/types";
import { smooth } from "@/shared/curves/column";
import { type Curves, useCurves } from "@/shared/curves/useCurves";
import { useIsLive } from "@/shared/live/stream";
import { classNames } from "@/shared/page/classNames";
import { HELDOUT_ACCURACY, kindOfValues, seriesKind } from "@/shared/series/catalog";
import styles from "./CurveThumbnail.module.css";

const REFRESH_MS = 3000;
const LINGER_MS = REFRESH_MS * 1.5; // at least one more refresh

interface Props {
  experimentId: number;
  name: string; // of the series
  live: boolean;
}

export function CurveThumbnail({ experimentId, name, live }: Props) {
  const isReported = useIsLive();
  const isGrowing = useLingering(live);
  const curves = useCurves(experimentId, name, {
    every: isGrowing && !isReported && REFRESH_MS,
    buckets: WIDTH,
  });
  const paths = useMemo(() => pathsOfSeries(name, curves), [curves, name]);
  return (
    <svg
      className={classNames(styles.thumbnail, styles.rowThumbnail)}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
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

const WIDTH = 132;
const HEIGHT = 36;

/** Return the paths of a series: those of shares from 0 to 1, all others over the range of their values. */
export function pathsOfSeries(name: string, curves: Curves): string[] {
  const values = [...curves.values()].map(({ envelope }) => envelope.values);
  const isShare = name === HELDOUT_ACCURACY && kindOfValues(seriesKind(name), values).ceiling === 1;
  return isShare ? accuracyPaths(curves) : valuePaths(curves);
}

/** Return a path for each run with at least two values; the best run comes last, on top of the others. */
function accuracyPaths(curves: Curves): string[] {
  const best = (column: Column) => Math.max(...column.values.map((value) => value ?? 0));
  return pathsOf(
    columnsOf(curves, "envelope").toSorted((a, b) => best(a) - best(b)),
    [0, 1],
  );
}

/** Return a path for each run with at least two values, over the range of all values. */
function valuePaths(curves: Curves): string[] {
  const columns = columnsOf(curves, "mean").map(smooth);
  const values = columns.flatMap((column) => column.values.filter((value) => value !== null));
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  return pathsOf(columns, [low, high > low ? high : low + 1]);
}

function columnsOf(curves: Curves, name: "envelope" | "mean"): Column[] {
  return [...curves.values()].map((curve) => curve[name]).filter((column) => column.steps.length > 1);
}

function pathsOf(columns: Column[], [low, high]: [number, number]): string[] {
  const width = Math.max(...columns.map((column) => column.steps.at(-1) ?? 0));
  return columns.map(({ steps, values }) => {
    const points = steps.flatMap((step, index) => {
      const value = values[index];
      if (value === null || value === undefined) return [];
      const share = (value - low) / (high - low);
      return `${((step / width) * (WIDTH - 2) + 1).toFixed(1)} ${(HEIGHT - 2 - share * (HEIGHT - 4)).toFixed(1)}`;
    });
    return `M${points.join("L")}`;
  });
}
