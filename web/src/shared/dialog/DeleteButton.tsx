/** The small button that deletes a row of a list, after a confirmation. */
import { type ReactNode, useState } from "react";
import { ConfirmDialog } from "./ConfirmDialog";

interface Props {
  kind: string; // "schedule"
  name: string;
  remove: { error: Error | null; isPending: boolean };
  onConfirm: () => void;
  children: ReactNode; // the effect of the deletion
}

export function DeleteButton({ kind, name, remove, onConfirm, children }: Props) {
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      <button
        className="button small danger"
        aria-label={`Delete ${name}…`}
        onClick={() => {
          setAsked(true);
        }}
      >
        Delete…
      </button>
      {isAsked && (
        <ConfirmDialog
          title={`Delete the ${kind} ${name}?`}
          cancelLabel="Cancel"
          confirmLabel="Delete"
          error={remove.error}
          busy={remove.isPending}
          onCancel={() => {
            setAsked(false);
          }}
          onConfirm={onConfirm}
        >
          {children}
        </ConfirmDialog>
      )}
    </>
  );
}
