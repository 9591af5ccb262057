/** The command palette: a field that finds pages, experiments, runs, views and actions; arrow keys and Enter choose. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { type Entry, useEntries } from "./entries";
import { Found } from "./Found";
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
