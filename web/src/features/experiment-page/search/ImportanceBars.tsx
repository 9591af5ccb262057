/** The importance of each parameter, as bars. */
import type { SearchDetail } from "@/shared/api/types";
import { axisNames } from "@/shared/format/value";
import { formatPercent } from "@/shared/format/number";
import { PictureFrame } from "./PictureFrame";
import styles from "./ImportanceBars.module.css";

export function ImportanceBars({ search }: { search: SearchDetail }) {
  const shares = Object.entries(search.importance);
  const names = axisNames(Object.keys(search.spec.space));
  const isEarly = search.spec.early_stopping.kind !== "none";
  return (
    <PictureFrame
      title="Importance of the parameters"
      search={search}
      csv={shares.length ? () => [["parameter", "importance"], ...shares] : null}
    >
      {shares.length ? (
        <>
          <ol className={styles.importances} aria-label="Importance of the parameters">
            {shares.map(([path, share]) => (
              <li key={path} className={styles.importance}>
                <span className={styles.importanceName} title={path}>
                  {names.get(path) ?? path}
                </span>
                <span className={styles.importanceTrack}>
                  <span className={styles.importanceBar} style={{ width: `${share * 100}%` }} />
                </span>
                <span className={styles.importanceValue}>{formatPercent(share, 0)}</span>
              </li>
            ))}
          </ol>
          <p className="small muted">
            {isEarly
              ? "PED-ANOVA of the values at the first comparison, which every trial has."
              : "PED-ANOVA of all trials that have ended."}
          </p>
        </>
      ) : (
        <p className="small muted">Shown from ten trials on.</p>
      )}
    </PictureFrame>
  );
}
