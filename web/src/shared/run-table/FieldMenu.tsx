/** A button that opens a choice of fields in an order: the chosen ones, and all others with a search. */
import { type ReactNode, useState } from "react";
import { Dialog } from "@/shared/dialog/Dialog";
import { titleOf } from "./columns";
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

export function FieldMenu({ label, buttons, ...choice }: Props) {
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
