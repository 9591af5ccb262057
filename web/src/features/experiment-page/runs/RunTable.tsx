/** The table of runs: the values of the axes, state, progress and results, sorted by a column. */
import { useState } from "react";
import type { RunView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { HELDOUT_ACCURACY, LOSS } from "@/shared/series/catalog";
import type { Axis } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import { RunRow } from "./RunRow";
import styles from "./RunTable.module.css";

interface Props {
  runs: RunView[];
  axes: Axis[];
  lineStyles: LineStyles;
  selection: Selection;
}

type SortKey = (run: RunView) => unknown;
interface Order {
  column: string;
  down: boolean;
}

export function RunTable({ runs, axes, lineStyles, selection }: Props) {
  const [order, setOrder] = useState<Order>({ column: "Run", down: false });
  const keys = columnKeys(axes);
  const best = Math.max(...runs.map((run) => run.latest[HELDOUT_ACCURACY] ?? -1));
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls
    <div className={classNames("scroll panel", styles.runs)} role="region" aria-label="Runs" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {[...keys.keys()].map((column) => (
              <Heading key={column} {...{ column, order }} onOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(runs, keys.get(order.column), order.down).map((run) => (
            <RunRow
              key={run.id}
              {...{ run, axes, lineStyles, selection }}
              best={run.latest[HELDOUT_ACCURACY] === best}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function columnKeys(axes: Axis[]): Map<string, SortKey> {
  return new Map<string, SortKey>([
    ["Run", (run) => run.number],
    ...axes.map((axis): [string, SortKey] => [axis.name, (run) => run.values[axis.path]]),
    ["State", (run) => run.state],
    ["Progress", (run) => run.step / run.steps],
    ["Loss", (run) => run.latest[LOSS]],
    ["Held-out accuracy", (run) => run.latest[HELDOUT_ACCURACY]],
  ]);
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
  column: string;
  order: Order;
  onOrder: (order: Order) => void;
}

function Heading({ column, order, onOrder }: HeadingProps) {
  const isSorted = order.column === column;
  const down = isSorted ? !order.down : column === "Held-out accuracy";
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (order.down ? "descending" : "ascending") : undefined}
      className={classNames(
        isNumberColumn(column) && "number",
        isNumberColumn(column) && styles.numberHeading,
      )}
    >
      <button
        className={classNames("plain", styles.sortButton)}
        onClick={() => {
          onOrder({ column, down });
        }}
      >
        {column}
        <span aria-hidden="true">{isSorted ? (order.down ? "↓" : "↑") : ""}</span>
      </button>
    </th>
  );
}

function isNumberColumn(column: string): boolean {
  return column === "Loss" || column === "Held-out accuracy";
}
