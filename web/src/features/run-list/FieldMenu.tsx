/** A button that opens a choice of fields in an order: the chosen ones, and all others with a search. */
import { type ReactNode, useState } from "react";
import type { FieldName } from "@/shared/api/types";
import { Dialog } from "@/shared/dialog/Dialog";
import { figureOf, metricOf, titleOf } from "@/shared/run-table/columns";
import styles from "./FieldMenu.module.css";

export interface FieldChoice {
  title: string; // of the button and the dialog
  one: string; // what a chosen field is: "column"
  chosen: readonly string[];
  fields: readonly string[]; // that may be chosen
  most?: number;
  onChoose: (fields: string[]) => void;
}

interface Props extends FieldChoice {
  label?: string; // of the button, if it is another than the title
  buttons: ReactNode;
}

const MOST_FOUND = 60;

function FieldMenu({ label, buttons, ...choice }: Props) {
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
        {label ?? choice.title}
      </button>
      {isOpen && (
        <Dialog title={choice.title} cancelLabel="Close" onCancel={close} onSubmit={close} buttons={buttons}>
          <Chosen {...choice} />
          <Available {...choice} />
        </Dialog>
      )}
    </>
  );
}

/** The chosen fields in their order: each can move to the left and be removed. */
function Chosen({ chosen, one, onChoose }: FieldChoice) {
  return (
    <ul className={styles.chosenFields} aria-label={`Shown ${one}s`}>
      {chosen.map((field, index) => (
        <li key={field}>
          {index > 0 && (
            <button
              type="button"
              className="plain"
              aria-label={`Move ${titleOf(field)} to the left`}
              onClick={() => {
                const before = chosen[index - 1] ?? "";
                onChoose(chosen.with(index - 1, field).with(index, before));
              }}
            >
              ←
            </button>
          )}
          {titleOf(field)}
          <button
            type="button"
            className="plain"
            aria-label={`Remove the ${one} ${titleOf(field)}`}
            onClick={() => {
              onChoose(chosen.filter((other) => other !== field));
            }}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function Available({ chosen, fields, most = Infinity, onChoose }: FieldChoice) {
  const [text, setText] = useState("");
  const found = fields
    .filter((field) => !chosen.includes(field) && field.toLowerCase().includes(text.toLowerCase().trim()))
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
      <ul className={styles.availableFields} aria-label="Further fields">
        {found.map((field) => (
          <li key={field}>
            <button
              type="button"
              className="plain"
              disabled={chosen.length >= most}
              onClick={() => {
                onChoose([...chosen, field]);
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

interface ColumnMenuProps {
  columns: string[];
  names: FieldName[];
  onColumns: (columns: string[] | null) => void;
}

const FIGURES = ["last", "best", "mean", "min", "max"];

/** The choice of the table's columns: any field of runs, and of metrics their figures. */
export function ColumnMenu({ columns, names, onColumns }: ColumnMenuProps) {
  return (
    <FieldMenu
      title="Columns"
      one="column"
      chosen={columns}
      fields={fieldsOf(names)}
      onChoose={onColumns}
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
    />
  );
}

/** Return all fields that may be columns: metrics by their figures. */
function fieldsOf(names: FieldName[]): string[] {
  return names.flatMap(({ name, is_metric }) => {
    if (!is_metric) return [name];
    return FIGURES.map((figure) => figureOf(figure, name)).filter((field) => metricOf(field) !== null);
  });
}

interface GroupMenuProps {
  by: string[];
  names: FieldName[];
  onBy: (by: string[]) => void;
}

const MOST_BY = 5; // fields of one grouping

/** The choice of the fields whose values the runs of a group share. */
export function GroupMenu({ by, names, onBy }: GroupMenuProps) {
  const fields = names
    .filter(({ kind, is_metric }) => !is_metric && kind !== "moment")
    .map(({ name }) => name);
  return (
    <FieldMenu
      title="Groups"
      label={by.length ? `Groups by ${by.map(titleOf).join(", ")}` : "Groups"}
      one="group field"
      chosen={by}
      fields={fields}
      most={MOST_BY}
      onChoose={onBy}
      buttons={
        <button
          type="button"
          className="button"
          onClick={() => {
            onBy([]);
          }}
        >
          No groups
        </button>
      }
    />
  );
}
