/** A button that opens a menu of actions; the arrow keys move in it, Escape closes it. */
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./Menu.module.css";

export interface MenuItem {
  label: string;
  onSelect: () => void;
  danger?: boolean;
}

interface Props {
  label: string;
  items: MenuItem[];
  isSmall?: boolean;
}

export function Menu({ label, items, isSmall = false }: Props) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && isOpen) close();
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    if (isOpen) moveFocus(box.current, by);
    else setOpen(true);
  };
  return (
    <div
      ref={box}
      className={styles.menu}
      role="presentation"
      onKeyDown={onKeyDown}
      onBlur={(event) => {
        if (!box.current?.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <button
        ref={opener}
        className={classNames("button", isSmall && "small")}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => {
          setOpen(!isOpen);
        }}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && <Items {...{ label, items }} onClose={close} />}
    </div>
  );
}

function Items({ label, items, onClose }: Props & { onClose: () => void }) {
  return (
    <div className={styles.menuItems} role="menu" aria-label={label}>
      {items.map(({ label, onSelect, danger }) => (
        <button
          key={label}
          className={classNames("plain", styles.menuItem, danger && styles.dangerItem)}
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            onClose(); // first, so that a dialog returns the focus to the menu's button
            onSelect();
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Move the focus among the items; after the last comes the first. */
function moveFocus(box: HTMLElement | null, by: number): void {
  const items = [...(box?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const at = items.findIndex((item) => item === document.activeElement);
  items.at((at + by) % items.length)?.focus();
}
