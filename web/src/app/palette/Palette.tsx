/** The command palette: a field that finds pages, experiments, runs, views and actions; arrow keys and Enter choose. */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { classNames } from "@/shared/page/classNames";
import { type Entry, useEntries } from "./entries";
import styles from "./Palette.module.css";

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [, go] = useLocation();
  const entries = useEntries(text);
  const at = Math.min(chosen, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    setTimeout(() => {
      entry.act(go); // after the palette has gone: a dialog of the action takes the focus
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined && entries.length) setChosen((at + by + entries.length) % entries.length);
    else if (event.key === "Enter") choose(entries[at]);
    else return;
    event.preventDefault();
  };
  const onText = (next: string) => {
    setText(next);
    setChosen(0);
  };
  return (
    <Frame onClose={onClose}>
      <Found {...{ text, at, entries, onText, onKeyDown }} onChoose={choose} onPoint={setChosen} />
    </Frame>
  );
}

/** A modal dialog that closes by Escape and by a click outside; then the focus returns. */
function Frame({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape closes it
    <dialog
      ref={dialog}
      className={styles.palette}
      aria-label="Commands"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

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

/** The field of the command palette and the list of what it finds. */
function Found({ text, at, entries, onText, onKeyDown, ...list }: Props) {
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
