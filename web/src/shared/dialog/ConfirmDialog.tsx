/** A question before something that cannot be undone; Escape and the first button say no. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import "./confirm.css";

interface Props {
  title: string;
  children: ReactNode;
  no: string;
  yes: string;
  busy: boolean;
  error: Error | null;
  onNo: () => void;
  onYes: () => void;
}

export function Confirm({ title, children, no, yes, busy, error, onNo, onYes }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();

  useEffect(() => {
    const asker = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      shown?.close();
      if (asker instanceof HTMLElement) asker.focus();
    };
  }, []);

  return (
    <dialog
      ref={dialog}
      className="confirm"
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onNo();
      }}
    >
      <h2 id={heading}>{title}</h2>
      <div className="confirm-text">{children}</div>
      {error && <p className="confirm-error">It could not be asked for: {error.message}</p>}
      <div className="confirm-choice">
        <button className="button" onClick={onNo}>
          {no}
        </button>
        <button className="button danger firm" onClick={onYes} disabled={busy}>
          {yes}
        </button>
      </div>
    </dialog>
  );
}
