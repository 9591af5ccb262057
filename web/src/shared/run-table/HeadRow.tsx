/** The headings of the table of runs: a click sorts all runs by the column. */
import { classNames } from "@/shared/page/classNames";
import type { Asked, RunTableData } from "./useRunTable";
import styles from "./RunTable.module.css";
import type { RunColumn } from "./RunTable";
import type { RowSelection } from "./useRowSelection";

interface Props {
  columns: RunColumn[];
  asked: Asked;
  data: RunTableData;
  selection: RowSelection | null;
  onSort: (field: string) => void;
}

export function HeadRow({ columns, asked, data, selection, onSort }: Props) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" aria-sort={sortOf(asked.sort, "id")}>
          <span className={styles.firstCell}>
            {selection && <SelectAll {...{ asked, data, selection }} />}
            <Heading field="id" title="run" sort={asked.sort} onSort={onSort} />
          </span>
        </th>
        {columns.map(({ field, title, isNumeric }) => (
          <th
            key={field}
            scope="col"
            title={field}
            aria-sort={sortOf(asked.sort, field)}
            className={classNames(isNumeric && "number")}
          >
            <Heading field={field} title={title} sort={asked.sort} onSort={onSort} />
          </th>
        ))}
      </tr>
    </thead>
  );
}

function sortOf(sort: string, field: string): "ascending" | "descending" | undefined {
  if (sort === field) return "ascending";
  return sort === `-${field}` ? "descending" : undefined;
}

interface HeadingProps {
  field: string;
  title: string;
  sort: string;
  onSort: (field: string) => void;
}

function Heading({ field, title, sort, onSort }: HeadingProps) {
  const order = sortOf(sort, field);
  return (
    <button
      className={classNames("plain", styles.headButton)}
      onClick={() => {
        onSort(field);
      }}
    >
      {title}
      {order && <span aria-hidden="true">{order === "ascending" ? " ↑" : " ↓"}</span>}
    </button>
  );
}

function SelectAll({ asked, data, selection }: Pick<Props, "asked" | "data"> & { selection: RowSelection }) {
  const isAny = selection.ids.size > 0;
  return (
    <input
      type="checkbox"
      aria-label={isAny ? "Clear the selection" : "Select all runs of the query"}
      checked={isAny && selection.ids.size === data.total}
      disabled={selection.isLoading}
      ref={(element) => {
        if (element) element.indeterminate = isAny && selection.ids.size !== data.total;
      }}
      onChange={() => {
        if (isAny) selection.clear();
        else void selection.selectAll(asked);
      }}
    />
  );
}
