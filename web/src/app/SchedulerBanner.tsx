/** A banner while the API answers and the scheduler does not work. */
import { useOutage } from "@/shared/api/connection";
import styles from "./ConnectionBanner.module.css";
import { useSchedulerProblem } from "./useSchedulerProblem";

export function SchedulerBanner() {
  const problem = useSchedulerProblem();
  const outage = useOutage();
  return (
    <div role="status">
      {problem && !outage && (
        <p className={styles.outage}>
          {problem.startsWith("has ") ? `The scheduler ${problem}.` : `The scheduler is late: ${problem}.`}{" "}
          <span className={styles.outageSince}>
            Until it works, no run starts or ends, and the pages show the last stored state.
          </span>
        </p>
      )}
    </div>
  );
}
