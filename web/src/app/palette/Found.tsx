/** The field of the command palette and the list of what it finds. */
import { type KeyboardEvent, useEffect, useId } from "react";
import { classNames } from "@/shared/page/classNames";
import type { Entry } from "./entries";
import styles from "./Palette.module.css";

interface Props {
  text: string;
  at: number; // of the chosen entry
  entries: Entry[];
  onText: (text: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onChoose: (entry: Entry) => void;
  onPoint: (place: number) => void;
}

const LABEL = "Find a page, an experiment, a run, a view or an action";

export function Found({ text, at, entries, onText, onKeyDown, ...list }: Props) {
  const id = useId();
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, id]);
  return (
    <>
      <input
        className={classNames("textInput", styles.paletteField)}
        type="text"
        role="combobox"
        aria-label={LABEL}
        placeholder={LABEL}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={entries.length ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          onText(event.target.value);
        }}
        onKeyDown={onKeyDown}
      />
      <Entries {...list} {...{ id, at, entries }} />
      <p className={classNames("muted", "small", styles.paletteHint)} role="status">
        {entries.length ? "↑ ↓ choose, Enter opens, Esc closes" : "Nothing has these words."}
      </p>
    </>
  );
}

type EntriesProps = Pick<Props, "at" | "entries" | "onChoose" | "onPoint"> & { id: string };

function Entries({ id, at, entries, onChoose, onPoint }: EntriesProps) {
  return (
    <div id={id} className={styles.entries} role="listbox" aria-label="Found">
      {entries.map((entry, place) => (
        // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the keys
        <div
          key={`${place} ${entry.text}`}
          id={`${id}-${place}`}
          role="option"
          aria-selected={place === at}
          tabIndex={-1}
          className={classNames(styles.entry, place === at && styles.chosenEntry)}
          onClick={() => {
            onChoose(entry);
          }}
          onPointerMove={() => {
            onPoint(place);
          }}
        >
          <span>{entry.text}</span>
          <span className="muted small">{entry.kind}</span>
        </div>
      ))}
    </div>
  );
}
