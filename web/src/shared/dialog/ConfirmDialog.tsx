/** A dialog before an action that cannot be undone or that costs much; Escape and the first button cancel it. */
import type { ReactNode } from "react";
import { classNames } from "@/shared/page/classNames";
import { Dialog } from "./Dialog";

interface Props {
  title: string;
  children: ReactNode;
  cancelLabel: string;
  confirmLabel: string;
  busy: boolean;
  error: Error | null;
  harmless?: boolean; // the action destroys nothing
  onCancel: () => void;
  onConfirm: () => void;
}

export function ConfirmDialog({ title, children, cancelLabel, confirmLabel, ...state }: Props) {
  const { busy, error, harmless = false, onCancel, onConfirm } = state;
  return (
    <Dialog
      {...{ title, cancelLabel, error, onCancel }}
      onSubmit={onConfirm}
      buttons={
        <button className={classNames("button", harmless ? "primary" : "danger firm")} disabled={busy}>
          {confirmLabel}
        </button>
      }
    >
      <div className="muted">{children}</div>
    </Dialog>
  );
}
