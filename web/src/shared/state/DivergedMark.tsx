/** The mark of a run, or of several, of which a metric is NaN or infinite to its end: beside the state, in words. */
import styles from "./state.module.css";

interface Props {
  diverged: { sentence: string } | null;
  count?: number; // of runs
}

export function DivergedMark({ diverged, count }: Props) {
  if (!diverged && !count) return null;
  return (
    <span className={styles.state} data-state="failed" title={diverged?.sentence}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d="M4 4l8 8M12 4l-8 8" className={styles.stateLine} />
      </svg>
      {count === undefined ? "diverged" : `${count} diverged`}
    </span>
  );
}
