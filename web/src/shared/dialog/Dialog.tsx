/** The frame of a modal dialog: heading, content, the error of its request, and buttons; Escape cancels. */
import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./Dialog.module.css";

interface Props {
  title: string;
  children: ReactNode;
  buttons: ReactNode; // after the one that cancels
  cancelLabel?: string;
  error?: Error | null;
  wide?: boolean; // for long texts
  onCancel: () => void;
  onSubmit?: () => void; // by the Enter key too
}

export function Dialog({ title, children, buttons, cancelLabel = "Cancel", ...rest }: Props) {
  const { error = null, wide = false, onCancel, onSubmit } = rest;
  const dialog = useModal();
  const heading = useId();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog
      ref={dialog}
      className={classNames(styles.dialog, wide && styles.wide)}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
    >
      <form onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        <div className={styles.content}>{children}</div>
        {error && (
          <p className={styles.dialogError} role="alert">
            The request failed: {error.message}
          </p>
        )}
        <div className={styles.dialogButtons}>
          <button type="button" className="button" onClick={onCancel}>
            {cancelLabel}
          </button>
          {buttons}
        </div>
      </form>
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
