/** A dialog before an action that cannot be undone; Escape and the first button cancel the action. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./ConfirmDialog.module.css";

interface Props {
  title: string;
  children: ReactNode;
  cancelLabel: string;
  confirmLabel: string;
  busy: boolean;
  error: Error | null;
  onCancel: () => void;
  onConfirm: () => void;
}

export function ConfirmDialog({ title, children, cancelLabel, confirmLabel, ...state }: Props) {
  const { busy, error, onCancel, onConfirm } = state;
  const dialog = useModal();
  const heading = useId();
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
    >
      <h2 id={heading}>{title}</h2>
      <div className={styles.explanation}>{children}</div>
      {error && <p className={styles.dialogError}>The request failed: {error.message}</p>}
      <div className={styles.dialogButtons}>
        <button className="button" onClick={onCancel}>
          {cancelLabel}
        </button>
        <button className="button danger firm" onClick={onConfirm} disabled={busy}>
          {confirmLabel}
        </button>
      </div>
    </dialog>
  );
}

/** Return the ref of a modal dialog; after the dialog the focus returns to the element that opened it. */
function useModal() {
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
  return dialog;
}
