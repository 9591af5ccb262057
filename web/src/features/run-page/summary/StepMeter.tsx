/** The bar with the share of the steps that a run has taken; stripes while the number of its steps is not known. */
import type { RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { stepShare } from "@/shared/state/state";
import styles from "./RunMetrics.module.css";

export function StepMeter({ run }: { run: RunDetail }) {
  const share = stepShare(run);
  const value =
    share === null
      ? { "aria-valuetext": `${formatCount(run.step)} steps of an unknown number` }
      : { "aria-valuenow": Math.floor(share * 100) };
  return (
    <div
      className={styles.stepMeter}
      data-state={run.state}
      role="progressbar"
      aria-label="steps taken"
      {...value}
    >
      <i
        className={classNames(share === null && styles.unknownShare)}
        style={{ width: `${(share ?? 1) * 100}%` }}
      />
    </div>
  );
}
