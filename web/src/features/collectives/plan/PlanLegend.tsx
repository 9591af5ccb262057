/** The legend of a plan's diagram. */
import { classNames } from "@/shared/page/classNames";
import styles from "./PlanLegend.module.css";

export function PlanLegend() {
  return (
    <ul className={classNames("small muted", styles.planLegend)} aria-label="Legend">
      <li>
        <i className={styles.partSwatch} /> part of the sum
      </li>
      <li>
        <i className={classNames(styles.partSwatch, styles.completeSwatch)} /> complete sum
      </li>
      <li>
        <i className={classNames(styles.messageSwatch, styles.betweenHostsSwatch)} /> between hosts
      </li>
      <li>
        <i className={styles.messageSwatch} /> inside a host
      </li>
      <li>
        <i className={classNames(styles.messageSwatch, styles.copiedSwatch)} /> copied, not added
      </li>
    </ul>
  );
}
