/** The choice of the table's columns: a list of all fields with a search, and of figures for metrics. */
import { useState } from "react";
import type { FieldName } from "@/shared/api/types";
import { Dialog } from "@/shared/dialog/Dialog";
import { metricOf, titleOf } from "./columns";
import styles from "./ColumnMenu.module.css";

interface Props {
  columns: string[];
  names: FieldName[];
  onColumns: (columns: string[] | null) => void;
}

const MOST_FOUND = 60;
const FIGURES = ["last", "best", "mean", "min", "max"];

export function ColumnMenu({ columns, names, onColumns }: Props) {
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
  };
  return (
    <>
      <button
        className="button"
        aria-haspopup="dialog"
        onClick={() => {
          setOpen(true);
        }}
      >
        Columns
      </button>
      {isOpen && (
        <Dialog
          title="Columns"
          cancelLabel="Close"
          onCancel={close}
          onSubmit={close}
          buttons={
            <button
              type="button"
              className="button"
              onClick={() => {
                onColumns(null);
              }}
            >
              Default columns
            </button>
          }
        >
          <Chosen columns={columns} onColumns={onColumns} />
          <Available {...{ columns, names, onColumns }} />
        </Dialog>
      )}
    </>
  );
}

/** The columns in their order: each can move to the left and be removed. */
function Chosen({ columns, onColumns }: Omit<Props, "names">) {
  return (
    <ul className={styles.chosenColumns} aria-label="Shown columns">
      {columns.map((column, index) => (
        <li key={column}>
          {index > 0 && (
            <button
              type="button"
              className="plain"
              aria-label={`Move ${titleOf(column)} to the left`}
              onClick={() => {
                const before = columns[index - 1] ?? "";
                onColumns(columns.with(index - 1, column).with(index, before));
              }}
            >
              ←
            </button>
          )}
          {titleOf(column)}
          <button
            type="button"
            className="plain"
            aria-label={`Remove the column ${titleOf(column)}`}
            onClick={() => {
              onColumns(columns.filter((other) => other !== column));
            }}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function Available({ columns, names, onColumns }: Props) {
  const [text, setText] = useState("");
  const found = fieldsOf(names)
    .filter((field) => !columns.includes(field) && field.toLowerCase().includes(text.toLowerCase().trim()))
    .slice(0, MOST_FOUND);
  return (
    <>
      <input
        className="textInput"
        type="search"
        aria-label="Find a field"
        placeholder="Find a field or a metric"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <ul className={styles.availableColumns} aria-label="Further fields">
        {found.map((field) => (
          <li key={field}>
            <button
              type="button"
              className="plain"
              onClick={() => {
                onColumns([...columns, field]);
              }}
            >
              <code>{field}</code>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Return all fields that may be columns: metrics by their figures. */
function fieldsOf(names: FieldName[]): string[] {
  return names.flatMap(({ name, is_metric }) => {
    if (!is_metric) return [name];
    const inside = /^[a-z_][\w./-]*$/i.test(name) ? name : `\`${name}\``;
    return FIGURES.map((figure) => `${figure}(${inside})`).filter((field) => metricOf(field) !== null);
  });
}
