/** The button that stops a run or an experiment, after a confirmation. */
import type { UseMutationResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ConfirmDialog } from "./ConfirmDialog";

interface Props {
  target: string; // "run 12"
  stop: UseMutationResult<unknown, Error, void>;
  stopping: boolean;
  children: ReactNode; // the effect of the stop
}

export function StopButton({ target, stop, stopping, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    stop.reset();
  };
  return (
    <>
      <button
        className="button danger"
        disabled={stopping}
        onClick={() => {
          setOpen(true);
        }}
      >
        {stopping ? "Stopping…" : `Stop ${target}`}
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Stop ${target}?`}
          cancelLabel="Keep running"
          confirmLabel={`Stop ${target}`}
          busy={stop.isPending}
          error={stop.error}
          onCancel={close}
          onConfirm={() => {
            stop.mutate(undefined, { onSuccess: close });
          }}
        >
          {children}
        </ConfirmDialog>
      )}
    </>
  );
}
