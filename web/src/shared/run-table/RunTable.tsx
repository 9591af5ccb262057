/** The table of runs: any number of rows, of which the page has those in view; a heading sorts all of them. */
import {
  type Cell as ModelCell,
  type ColumnDef,
  getCoreRowModel,
  type Row,
  useReactTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef, useState } from "react";
import type { TableRow } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { type Asked, type RunTableData, useRunTable } from "./api/useRunTable";
import type { Cell } from "./columns";
import { HeadRow } from "./HeadRow";
import styles from "./RunTable.module.css";
import { TableStatus } from "./TableStatus";
import type { RowSelection } from "./useRowSelection";

const ROW_PX = 37;
const OVERSCAN = 12; // rows outside the view
const FIRST_ROWS = 40; // before the height of the table is known

/** A column: its cells are those of the field at the same place of `asked.columns`. */
export interface RunColumn {
  field: string;
  title: string;
  width: number; // in pixels
  isNumeric: boolean;
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
  const scroller = useRef<HTMLDivElement>(null);
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
  const width = columns.reduce((sum, column) => sum + column.width, FIRST_WIDTH);
  return (
    <div className={classNames("panel", styles.tablePanel)}>
      {/* eslint-disable jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <div ref={scroller} className={styles.scroller} role="region" aria-label={label} tabIndex={0}>
        {/* eslint-enable jsx-a11y/no-noninteractive-tabindex */}
        <table
          className={styles.runTable}
          style={{ minWidth: width }}
          aria-rowcount={(data.total ?? 0) + 1}
          aria-busy={data.isFetching}
        >
          <Columns columns={columns} />
          <HeadRow {...{ columns, asked, data }} selection={props.selection} onSort={props.onSort} />
          <Body {...props} data={data} items={virtual.getVirtualItems()} height={virtual.getTotalSize()} />
        </table>
      </div>
      <TableStatus data={data} />
    </div>
  );
}

const FIRST_WIDTH = 120;

function Columns({ columns }: { columns: RunColumn[] }) {
  return (
    <colgroup>
      <col style={{ width: FIRST_WIDTH }} />
      {columns.map(({ field, width }) => (
        <col key={field} style={{ width }} />
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
  const shown = items.map(({ index }) => ({ index, row: data.rowAt(index) }));
  const loaded = shown.flatMap(({ row }) => row ?? []);
  const rows = useRows(loaded, props.columns, data, props.renderRun);
  const [above, below] = [items[0]?.start ?? 0, height - (items.at(-1)?.end ?? 0)];
  const columns = props.columns.length + 1;
  return (
    <tbody>
      <Gap height={above} columns={columns} />
      {shown.map(({ index, row }) =>
        row ? (
          <BodyRow key={row.id} index={index} row={rows.get(row.id)} {...props} />
        ) : (
          <Gap key={`gap ${index}`} height={ROW_PX} columns={columns} />
        ),
      )}
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

/** Return the rows of the table's model by the ids of their runs. */
function useRows(
  loaded: TableRow[],
  columns: RunColumn[],
  data: RunTableData,
  renderRun: Props["renderRun"],
): ReadonlyMap<number, Row<TableRow>> {
  // eslint-disable-next-line react-hooks/incompatible-library -- this hook alone calls its functions
  const table = useReactTable({
    data: loaded,
    columns: [
      { id: "run", cell: ({ row }) => renderRun(row.original) },
      ...columns.map((column, index): ColumnDef<TableRow> => {
        const cell: ColumnDef<TableRow>["cell"] = ({ row }) =>
          column.render(row.original, row.original.cells[index] ?? null, data);
        return { id: column.field, cell, meta: { isNumeric: column.isNumeric } };
      }),
    ],
    getCoreRowModel: getCoreRowModel(),
    getRowId: (row) => String(row.id),
    manualSorting: true, // the service sorts all runs
    autoResetAll: false, // a reset after each render renders again, without an end
  });
  return new Map(table.getRowModel().rows.map((row) => [row.original.id, row]));
}

/** Call the column's function: as a component it would be another one after each render, and lose the focus. */
function contentOf(cell: ModelCell<TableRow, unknown>): ReactNode {
  const { cell: render } = cell.column.columnDef;
  return typeof render === "function" ? (render(cell.getContext()) as ReactNode) : null;
}

const never = () => false;

interface RowProps extends Props {
  index: number;
  row: Row<TableRow> | undefined;
}

function BodyRow({ index, row, columns, selection, onPoint, isMarked = never }: RowProps) {
  if (!row) return null;
  const run = row.original;
  const isSelected = selection?.ids.has(run.id) ?? false;
  const isPointedAt = isMarked(run);
  const [first, ...cells] = row.getVisibleCells();
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
          {first && contentOf(first)}
        </span>
      </th>
      {cells.map((cell, place) => (
        <td key={cell.id} className={classNames(columns[place]?.isNumeric && "number")}>
          {contentOf(cell)}
        </td>
      ))}
    </tr>
  );
}
