/** A thumbnail of one series of all runs, with one run in color: the most accurate one, or the last. */
import { useEffect, useMemo, useState } from "react";
import { useCurves } from "@/shared/curves/useCurves";
import { useIsLive } from "@/shared/live/stream";
import { classNames } from "@/shared/page/classNames";
import styles from "./CurveThumbnail.module.css";
import { HEIGHT, pathsOfSeries, WIDTH } from "./curvePaths";

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
