/** The table of runs: the values of the axes, state, progress and results, sorted by a column. */
import { useState } from "react";
import type { RunView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { HELDOUT_ACCURACY, LOSS, seriesKind } from "@/shared/series/catalog";
import { stepShare } from "@/shared/state/progress";
import { type Axis, axisValue } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import { RunRow } from "./RunRow";
import styles from "./RunTable.module.css";

interface Props {
  runs: RunView[];
  metrics: string[]; // the series with a column
  axes: Axis[];
  lineStyles: LineStyles;
  selection: Selection;
}

type SortKey = (run: RunView) => unknown;
interface Column {
  id: string;
  title: string;
  key: SortKey;
  isNumber?: boolean;
  bestFirst?: boolean; // the first click on its heading sorts the highest value to the top
}
/** The headline of the page takes the maximum of this column. */
const BEST_ACCURACY: Column = {
  id: "Best accuracy",
  title: "Best accuracy",
  key: (run) => run.best_accuracy,
  isNumber: true,
  bestFirst: true,
};

interface Order {
  column: string; // its id
  down: boolean;
}

export function RunTable({ runs, metrics, axes, lineStyles, selection }: Props) {
  const [order, setOrder] = useState<Order>({ column: "Run", down: false });
  const columns = columnsOf(axes, metrics);
  const best = Math.max(...runs.map((run) => run.best_accuracy ?? -1));
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls
    <div className={classNames("scroll panel", styles.runs)} role="region" aria-label="Runs" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.id} {...{ column, order }} onOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(runs, columns.find(({ id }) => id === order.column)?.key, order.down).map((run) => (
            <RunRow
              key={run.id}
              {...{ run, metrics, axes, lineStyles, selection }}
              best={run.best_accuracy === best}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Return the columns; two series or axes may have the same title, but not the same id. */
function columnsOf(axes: Axis[], metrics: string[]): Column[] {
  return [
    { id: "Run", title: "Run", key: (run) => run.number },
    ...axes.map((axis) => ({ id: axis.path, title: axis.name, key: (run: RunView) => axisValue(run, axis) })),
    { id: "State", title: "State", key: (run) => run.state },
    { id: "Progress", title: "Progress", key: (run) => stepShare(run) ?? 0 },
    ...metrics.map((name) => ({
      id: `series ${name}`,
      title: name === LOSS ? "Loss" : seriesKind(name).title,
      key: (run: RunView) => run.latest[name],
      isNumber: true,
      bestFirst: name === HELDOUT_ACCURACY,
    })),
    ...(metrics.includes(HELDOUT_ACCURACY) ? [BEST_ACCURACY] : []),
  ];
}

/** Sort by the column's value; a run without a value comes last in both directions. */
function sorted(runs: RunView[], key: SortKey | undefined, down: boolean): RunView[] {
  if (!key) return runs;
  return runs.toSorted((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === null || a === undefined || b === null || b === undefined)
      return Number(a == null) - Number(b == null);
    const order =
      typeof a === "number" && typeof b === "number"
        ? a - b
        : JSON.stringify(a).localeCompare(JSON.stringify(b));
    return down ? -order : order;
  });
}

interface HeadingProps {
  column: Column;
  order: Order;
  onOrder: (order: Order) => void;
}

function Heading({ column, order, onOrder }: HeadingProps) {
  const { id, title, isNumber = false, bestFirst = false } = column;
  const isSorted = order.column === id;
  const down = isSorted ? !order.down : bestFirst;
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (order.down ? "descending" : "ascending") : undefined}
      className={classNames(isNumber && "number", isNumber && styles.numberHeading)}
    >
      <button
        className={classNames("plain", styles.sortButton)}
        onClick={() => {
          onOrder({ column: id, down });
        }}
      >
        {title}
        <span aria-hidden="true">{isSorted ? (order.down ? "↓" : "↑") : ""}</span>
      </button>
    </th>
  );
}
