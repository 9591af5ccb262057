/** The table of runs: any number of rows, of which the page has those in view; a heading sorts all of them. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useState } from "react";
import { errorText } from "@/shared/api/client";
import type { TableRow } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { useWidth } from "@/shared/page/useWidth";
import type { Cell } from "./columns";
import { columnWidths, FIRST_WIDTH } from "./columnWidths";
import { HeadRow } from "./HeadRow";
import styles from "./RunTable.module.css";
import type { RowSelection } from "./useRowSelection";
import { type Asked, type RunTableData, useRunTable } from "./useRunTable";

const ROW_PX = 37;
const OVERSCAN = 12; // rows outside the view
const FIRST_ROWS = 40; // before the height of the table is known

/** A column: its cells are those of its field in the answer; a field that the answer leaves out has none. */
export interface RunColumn {
  field: string;
  title: string;
  width: number; // in pixels, the least one
  isNumeric: boolean;
  textOf?: (row: TableRow, cell: Cell) => string; // of a cell that makes its column wider
  render: (row: TableRow, cell: Cell, data: RunTableData) => ReactNode;
}

interface Props {
  label: string;
  asked: Asked;
  columns: RunColumn[];
  every: number | false;
  selection: RowSelection | null; // null: rows cannot be selected
  onSort: (field: string) => void;
  renderRun: (row: TableRow) => ReactNode; // the first cell
  onPoint?: (row: TableRow | null) => void; // the pointer is on a row
  isMarked?: (row: TableRow) => boolean;
}

export function RunTable(props: Props) {
  const { label, asked, columns, every } = props;
  const [scroller, available] = useWidth();
  const [view, setView] = useState({ first: 0, last: FIRST_ROWS });
  const data = useRunTable(asked, view.first, view.last, every);
  // eslint-disable-next-line react-hooks/incompatible-library -- this component alone calls its functions
  const virtual = useVirtualizer({
    count: data.total ?? 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    onChange: ({ range }) => {
      if (!range) return;
      const next = { first: range.startIndex - OVERSCAN, last: range.endIndex + OVERSCAN };
      setView((before) => (before.first === next.first && before.last === next.last ? before : next));
    },
  });
  useFreshStates(props.selection, data, virtual.getVirtualItems());
  const widths = columnWidths(columns, data, virtual.getVirtualItems(), available);
  const width = widths.reduce((sum, each) => sum + each, FIRST_WIDTH);
  return (
    <div className={classNames("panel", styles.tablePanel)}>
      <ScrollRegion ref={scroller} className={styles.scroller} label={label}>
        <table
          className={styles.runTable}
          style={{ minWidth: width }}
          aria-rowcount={(data.total ?? 0) + 1}
          aria-busy={data.isFetching}
        >
          <Columns columns={columns} widths={widths} />
          <HeadRow {...{ columns, asked, data }} selection={props.selection} onSort={props.onSort} />
          <Body {...props} data={data} items={virtual.getVirtualItems()} height={virtual.getTotalSize()} />
        </table>
      </ScrollRegion>
      <TableStatus data={data} />
    </div>
  );
}

/** Let a selection know the present states of the runs in view: which actions are offered depends on them. */
function useFreshStates(selection: RowSelection | null, data: RunTableData, items: { index: number }[]) {
  useEffect(() => {
    selection?.refresh(items.flatMap(({ index }) => data.rowAt(index) ?? []));
  });
}

function Columns({ columns, widths }: { columns: RunColumn[]; widths: number[] }) {
  return (
    <colgroup>
      <col style={{ width: FIRST_WIDTH }} />
      {columns.map(({ field }, place) => (
        <col key={field} style={{ width: widths[place] }} />
      ))}
    </colgroup>
  );
}

interface BodyProps extends Props {
  data: RunTableData;
  items: { index: number; start: number; end: number }[];
  height: number;
}

/** The rows in view between two empty rows in the place of all others. */
function Body({ data, items, height, ...props }: BodyProps) {
  const [above, below] = [items[0]?.start ?? 0, height - (items.at(-1)?.end ?? 0)];
  const columns = props.columns.length + 1;
  return (
    <tbody>
      <Gap height={above} columns={columns} />
      {items.map(({ index }) => {
        const run = data.rowAt(index);
        if (!run) return <Gap key={`gap ${index}`} height={ROW_PX} columns={columns} />;
        return <BodyRow key={run.id} {...{ index, run, data }} {...props} />;
      })}
      <Gap height={below} columns={columns} />
    </tbody>
  );
}

function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" className={styles.gap} style={{ height }}>
      <td colSpan={columns} />
    </tr>
  );
}

const never = () => false;

interface RowProps extends Props {
  index: number;
  run: TableRow;
  data: RunTableData;
}

function BodyRow({ index, run, data, columns, selection, onPoint, isMarked = never, renderRun }: RowProps) {
  const isSelected = selection?.ids.has(run.id) ?? false;
  const isPointedAt = isMarked(run);
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={selection ? isSelected : undefined}
      data-highlighted={isPointedAt}
      className={classNames(styles.row, (isSelected || isPointedAt) && styles.markedRow)}
      onPointerEnter={() => onPoint?.(run)}
      onPointerLeave={() => onPoint?.(null)}
    >
      <th scope="row">
        <span className={styles.firstCell}>
          {selection && (
            <input
              type="checkbox"
              aria-label={`Select run ${run.id}`}
              checked={isSelected}
              onChange={() => {
                selection.toggle(run);
              }}
            />
          )}
          {renderRun(run)}
        </span>
      </th>
      {columns.map(({ field, isNumeric, render }) => (
        <td key={field} className={classNames(isNumeric && "number")}>
          {render(run, data.cellAt(index, field), data)}
        </td>
      ))}
    </tr>
  );
}

/** The line below the table of runs: how many runs the query finds, or why there are none. */
function TableStatus({ data }: { data: RunTableData }) {
  return (
    <p className={styles.tableStatus} role="status">
      {statusText(data)}
    </p>
  );
}

function statusText({ total, error, isFetching }: RunTableData): string {
  if (error) return total === null ? "The runs cannot be shown." : `The rows are old: ${errorText(error)}.`;
  if (isFetching || total === null) return "Loading …";
  return total ? pluralize(total, "run") : "No run matches.";
}
