/** The cells of the table of runs that are more than a text: the run, its experiment, and its state. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { FieldName, TableRow } from "@/shared/api/types";
import { formatMoment } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { DivergedMark, StateMark } from "@/shared/state/StateMark";
import type { RunTableData } from "./useRunTable";
import { type Cell, cellText, metricOf, titleOf } from "./columns";
import styles from "./RunTable.module.css";
import type { RunColumn } from "./RunTable";

const WIDTHS = new Map(Object.entries({ name: 115, state: 130, tag: 75, owner: 70, created: 100 }));
const NUMBER_PX = 85;
const TEXT_PX = 80;

/** Return the column of a field. */
export function columnOf(field: string, names: FieldName[], now: number): RunColumn {
  const isNumeric = isNumericField(field, names);
  return {
    field,
    title: titleOf(field),
    width: WIDTHS.get(field) ?? (isNumeric ? NUMBER_PX : TEXT_PX),
    isNumeric,
    ...(isText(field, names) && { textOf: (row, cell) => textOf(field, row, cell) }),
    render: (row, cell, data) => renderCell(field, row, cell, data, now),
  };
}

/** Return whether the cells of a column are texts, whose lengths differ. */
function isText(field: string, names: FieldName[]): boolean {
  const kind = names.find(({ name }) => name === field)?.kind;
  return !isNumericField(field, names) && kind !== "moment";
}

function textOf(field: string, row: TableRow, cell: Cell): string {
  return field === "state" ? stateText(row) : typeof cell === "string" ? cell : "";
}

/** Return what the cell of the state shows, in the width that it takes. */
export function stateText({ state, reason, diverged }: TableRow): string {
  return `    ${state}${diverged ? "     diverged" : ""}${hasReason(state) && reason ? ` ${reason}` : ""}`;
}

function hasReason(state: TableRow["state"]): boolean {
  return state !== "running" && state !== "done";
}

function isNumericField(field: string, names: FieldName[]): boolean {
  if (metricOf(field) !== null) return true;
  const kind = names.find(({ name }) => name === field)?.kind;
  return kind === "number" || kind === "duration";
}

function renderCell(field: string, row: TableRow, cell: Cell, data: RunTableData, now: number): ReactNode {
  if (field === "state") return <StateCell row={row} />;
  const kind = data.columns.find(({ name }) => name === field) ?? { kind: "any", metric: null };
  const text = cellText(field, kind, cell, now);
  if (field === "name") return <Link href={`/experiments/${row.experiment_id}`}>{text}</Link>;
  if (kind.kind === "moment" && cell !== null) {
    const at = String(cell);
    return (
      <time dateTime={at} title={formatMoment(at)}>
        {text}
      </time>
    );
  }
  return text;
}

/** The state, with the reason of one that waits or has failed. */
export function StateCell({ row }: { row: TableRow }) {
  const { state, stopping, after_failure: afterFailure, reason } = row;
  return (
    <span className={styles.stateCell} data-state={state}>
      <StateMark {...{ state, stopping, afterFailure }} />
      <DivergedMark diverged={row.diverged} />
      {hasReason(state) && reason && (
        <span className={classNames("small", styles.reasonText)} title={reason}>
          {reason}
        </span>
      )}
    </span>
  );
}

/** The link to a run. */
export function RunLink({ row, onFocus }: { row: TableRow; onFocus?: (row: TableRow | null) => void }) {
  return (
    <Link
      href={`/runs/${row.id}`}
      onFocus={() => onFocus?.(row)}
      onBlur={() => onFocus?.(null)}
    >{`Run ${row.id}`}</Link>
  );
}
