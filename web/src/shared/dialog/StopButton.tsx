/** Stop something that trains, after asking. */
import { useState, type ReactNode } from "react";
import type { UseMutationResult } from "@tanstack/react-query";
import { Confirm } from "./ConfirmDialog";

interface Props {
  what: string; // "run 12"
  stop: UseMutationResult<unknown, Error, void>;
  stopping: boolean;
  children: ReactNode; // what stopping means here
}

export function StopButton({ what, stop, stopping, children }: Props) {
  const [asking, setAsking] = useState(false);
  const close = () => {
    setAsking(false);
    stop.reset();
  };
  return (
    <>
      <button
        className="button danger"
        disabled={stopping}
        onClick={() => {
          setAsking(true);
        }}
      >
        {stopping ? "Stopping…" : `Stop ${what}`}
      </button>
      {asking && (
        <Confirm
          title={`Stop ${what}?`}
          no="Let it train"
          yes={`Stop ${what}`}
          busy={stop.isPending}
          error={stop.error}
          onNo={close}
          onYes={() => {
            stop.mutate(undefined, { onSuccess: close });
          }}
        >
          {children}
        </Confirm>
      )}
    </>
  );
}
