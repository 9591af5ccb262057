/** The keys of every page: Ctrl-K opens the command palette, ? the list of keys, / the search of the page. */
import { Fragment, useEffect, useState } from "react";
import { Dialog } from "@/shared/dialog/Dialog";
import { Palette } from "./Palette";
import styles from "./Palette.module.css";

const KEYS: [string[], string][] = [
  [["Ctrl K", "⌘ K"], "find a page, an experiment, a run, a view or an action"],
  [["/"], "go to the search or the query of the page"],
  [["?"], "show the keys"],
  [["Esc"], "close what is open"],
  [["Tab", "Shift Tab"], "go to the next or the previous element"],
  [["← →", "Home End"], "read a chart point by point, once it has the focus"],
  [["+", "−"], "zoom a chart in and out"],
  [
    ["Shift ←", "Shift →"],
    "move the zoomed range of a run's or an experiment's chart; a drag with Shift does the same",
  ],
];

export function Commands({ className }: { className: string }) {
  const [open, setOpen] = useState<"palette" | "keys" | null>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const wanted = commandOf(event);
      if (!wanted || (document.querySelector("dialog[open]") && wanted !== "palette")) return;
      event.preventDefault();
      if (wanted === "search") focusSearch();
      else setOpen((before) => (before === wanted ? null : wanted));
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
  const close = () => {
    setOpen(null);
  };
  return (
    <>
      <button
        className={className}
        aria-label="Commands (Ctrl K)"
        title="commands (Ctrl K)"
        aria-haspopup="dialog"
        onClick={() => {
          setOpen("palette");
        }}
      >
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path
            d="M12.8 12.8L17 17M14.5 9A5.5 5.5 0 1 1 3.5 9a5.5 5.5 0 0 1 11 0z"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.5"
          />
        </svg>
      </button>
      {open === "palette" && <Palette onClose={close} />}
      {open === "keys" && <Keys onClose={close} />}
    </>
  );
}

function commandOf(event: KeyboardEvent): "palette" | "keys" | "search" | null {
  if (event.altKey || event.isComposing) return null;
  if (event.ctrlKey || event.metaKey) return event.key.toLowerCase() === "k" ? "palette" : null;
  if (isTyping(event.target)) return null;
  return { "?": "keys" as const, "/": "search" as const }[event.key] ?? null;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))
  );
}

function focusSearch(): void {
  document
    .querySelector<HTMLElement>("#main search input, #main [type=search], #main [role=combobox]")
    ?.focus();
}

function Keys({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" cancelLabel="Close" onCancel={onClose} onSubmit={onClose} buttons={null}>
      <dl className={styles.keyList}>
        {KEYS.map(([names, text]) => (
          <Fragment key={text}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
