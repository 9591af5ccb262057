/** The legend of a plan's diagram. */
import { classNames } from "@/shared/page/classNames";
import { hasSums, type Operation } from "../operation/operations";
import styles from "./PlanLegend.module.css";

export function PlanLegend({ operation }: { operation: Operation }) {
  const sums = hasSums(operation);
  return (
    <ul className={classNames("small muted", styles.planLegend)} aria-label="Legend">
      {sums && (
        <li>
          <i className={styles.partSwatch} /> part of the sum
        </li>
      )}
      <li>
        <i className={classNames(styles.partSwatch, styles.completeSwatch)} />{" "}
        {sums ? "complete sum" : "block that is there"}
      </li>
      <li>
        <i className={classNames(styles.messageSwatch, styles.betweenHostsSwatch)} /> between hosts
      </li>
      <li>
        <i className={styles.messageSwatch} /> inside a host
      </li>
      <li>
        <i className={classNames(styles.messageSwatch, styles.copiedSwatch)} />{" "}
        {sums ? "copied, not added" : "copied"}
      </li>
    </ul>
  );
}
