/** A banner while the service does not answer; the page shows its last data meanwhile. */
import { useOutage } from "@/shared/api/connection";
import styles from "./ConnectionBanner.module.css";

export function ConnectionBanner() {
  const outage = useOutage();
  return (
    <div role="status">
      {outage && (
        <p className={styles.outage}>
          {outage.reason}{" "}
          <span className={styles.outageSince}>
            The page shows the data of {outage.since.toLocaleTimeString("en-GB")} and continues to poll.
          </span>
        </p>
      )}
    </div>
  );
}
