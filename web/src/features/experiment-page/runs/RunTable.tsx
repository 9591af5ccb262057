/** The runs one by one: what they vary, where they stand, how good they are. */
import { useState } from "react";
import type { RunView } from "@/shared/api/types";
import { HELDOUT_ACCURACY, LOSS } from "@/shared/series/catalog";
import type { Axis, Inks } from "@/features/experiment-page/lineStyles";
import { RunRow } from "./RunRow";
import type { Selection } from "@/features/experiment-page/useSelection";

interface Props {
  runs: RunView[];
  axes: Axis[];
  inks: Inks;
  selection: Selection;
}

type Key = (run: RunView) => unknown;
interface Order {
  column: string;
  down: boolean;
}

export function RunTable({ runs, axes, inks, selection }: Props) {
  const [order, setOrder] = useState<Order>({ column: "Run", down: false });
  const keys = columnKeys(axes);
  const best = Math.max(...runs.map((run) => run.latest[HELDOUT_ACCURACY] ?? -1));
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className="scroll panel runs" role="region" aria-label="Runs" tabIndex={0}>
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
              {...{ run, axes, inks, selection }}
              best={run.latest[HELDOUT_ACCURACY] === best}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function columnKeys(axes: Axis[]): Map<string, Key> {
  return new Map<string, Key>([
    ["Run", (run) => run.number],
    ...axes.map((axis): [string, Key] => [axis.name, (run) => run.values[axis.path]]),
    ["State", (run) => run.state],
    ["Progress", (run) => run.step / run.steps],
    ["Loss", (run) => run.latest[LOSS]],
    ["Held-out accuracy", (run) => run.latest[HELDOUT_ACCURACY]],
  ]);
}

/** By the column's value; what has none comes last either way. */
function sorted(runs: RunView[], key: Key | undefined, down: boolean): RunView[] {
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
  const mine = order.column === column;
  const down = mine ? !order.down : column === "Held-out accuracy";
  return (
    <th
      scope="col"
      aria-sort={mine ? (order.down ? "descending" : "ascending") : undefined}
      className={isFigure(column) ? "number" : ""}
    >
      <button
        className="plain heading"
        onClick={() => {
          onOrder({ column, down });
        }}
      >
        {column}
        <span aria-hidden="true">{mine ? (order.down ? "↓" : "↑") : ""}</span>
      </button>
    </th>
  );
}

function isFigure(column: string): boolean {
  return column === "Loss" || column === "Held-out accuracy";
}
