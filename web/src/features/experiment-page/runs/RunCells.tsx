/** Cells of the table of an experiment's runs: the run with the switch of its curve, and its progress. */
import { Link } from "wouter";
import type { TableRow } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { LineSwatch } from "@/shared/plot/Legend";
import { stepShare } from "@/shared/state/state";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import styles from "./RunTable.module.css";

interface Props {
  row: TableRow;
  lineStyles: LineStyles;
  selection: Selection;
  onPoint: (row: TableRow | null) => void;
}

export function RunCell({ row, lineStyles, selection, onPoint }: Props) {
  const key = String(row.id);
  const hidden = selection.hidden.has(key);
  return (
    <>
      <button
        className={classNames("plain", styles.curveToggle, hidden && styles.hiddenRun)}
        aria-pressed={!hidden}
        aria-label={`curve of run ${row.id}`}
        onClick={() => {
          selection.toggle([key]);
        }}
      >
        <LineSwatch {...lineStyles.of(row)} />
      </button>
      <Link
        href={`/runs/${row.id}`}
        onFocus={() => {
          onPoint(row);
        }}
        onBlur={() => {
          onPoint(null);
        }}
      >
        {`Run ${row.id}`}
      </Link>
    </>
  );
}

export function Progress({ row }: { row: TableRow }) {
  const { step, steps } = row;
  return (
    <div className={styles.runProgress}>
      {steps > 0 && (
        <span className={styles.runMeter} aria-hidden="true" data-state={row.state}>
          <i style={{ width: `${(stepShare(row) ?? 0) * 100}%` }} />
        </span>
      )}
      <span className="small muted">
        {step === steps || !steps ? formatCount(step) : `${formatCount(step)} of ${formatCount(steps)}`}
      </span>
    </div>
  );
}
