/** A row of the table of runs; the pointer on the row highlights the run's curve. */
import { Link } from "wouter";
import type { RunView } from "@/shared/api/types";
import { formatCount, formatPercent } from "@/shared/format/number";
import { valueText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { LineSwatch } from "@/shared/plot/LineSwatch";
import { HELDOUT_ACCURACY, seriesKind } from "@/shared/series/catalog";
import { stepShare } from "@/shared/state/progress";
import { StateMark } from "@/shared/state/StateMark";
import { type Axis, axisValue } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import styles from "./RunTable.module.css";

/** The states whose reason a reader needs without a click. */
const REASONED = new Set<RunView["state"]>(["queued", "submitting", "pending", "paused", "failed"]);

interface Props {
  run: RunView;
  metrics: string[]; // the series with a column
  axes: Axis[];
  lineStyles: LineStyles;
  selection: Selection;
  best: boolean;
}

export function RunRow({ run, metrics, axes, lineStyles, selection, best }: Props) {
  const key = String(run.id);
  const hidden = selection.hidden.has(key);
  const highlighted = selection.highlighted?.has(key) ?? false;
  const highlight = () => {
    selection.highlight([key]);
  };
  const clearHighlight = () => {
    selection.highlight(null);
  };
  return (
    <tr
      data-highlighted={highlighted}
      className={classNames(highlighted && styles.highlighted, hidden && styles.hiddenRun)}
      onPointerEnter={highlight}
      onPointerLeave={clearHighlight}
    >
      <th scope="row">
        <span className={styles.runCell}>
          <button
            className={classNames("plain", styles.curveToggle)}
            aria-pressed={!hidden}
            aria-label={`curve of run ${run.id}`}
            onClick={() => {
              selection.toggle([key]);
            }}
          >
            <LineSwatch {...lineStyles.of(run)} />
          </button>
          <Link href={`/runs/${run.id}`} onFocus={highlight} onBlur={clearHighlight}>
            {`Run ${run.id}`}
          </Link>
        </span>
      </th>
      {axes.map((axis) => (
        <td key={axis.path}>{valueText(axisValue(run, axis))}</td>
      ))}
      <ResultCells {...{ run, metrics, best }} />
    </tr>
  );
}

function ResultCells({ run, metrics, best }: Pick<Props, "run" | "metrics" | "best">) {
  return (
    <>
      <td>
        <StateMark state={run.state} stopping={run.stopping} />
        {REASONED.has(run.state) && run.reason && (
          <span className={classNames("small", styles.reason)} data-state={run.state} title={run.reason}>
            {run.reason}
          </span>
        )}
      </td>
      <td>
        <Progress run={run} />
      </td>
      {metrics.map((name) => (
        <td key={name} className="number">
          {seriesKind(name).format(run.latest[name])}
        </td>
      ))}
      {metrics.includes(HELDOUT_ACCURACY) && (
        <td className={classNames("number", best && styles.best)}>
          {best && <span className="visually-hidden">best: </span>}
          {formatPercent(run.best_accuracy)}
        </td>
      )}
    </>
  );
}

function Progress({ run }: { run: RunView }) {
  const { step, steps } = run;
  return (
    <div className={styles.runProgress}>
      {steps > 0 && (
        <span className={styles.runMeter} aria-hidden="true" data-state={run.state}>
          <i style={{ width: `${(stepShare(run) ?? 0) * 100}%` }} />
        </span>
      )}
      <span className="small muted">
        {step === steps || !steps ? formatCount(step) : `${formatCount(step)} of ${formatCount(steps)}`}
      </span>
    </div>
  );
}
