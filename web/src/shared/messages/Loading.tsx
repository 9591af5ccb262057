/** The place of data that loads: a text that appears only when the answer takes long. */
import styles from "./Loading.module.css";

export function Loading() {
  return (
    <div className={styles.loading} aria-busy="true">
      <p className="muted">Loading …</p>
    </div>
  );
}
