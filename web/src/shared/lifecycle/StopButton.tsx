/** The button that stops a run or an experiment, after a confirmation. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Target } from "@/shared/api/target";
import { ConfirmDialog } from "@/shared/dialog/ConfirmDialog";

interface Props {
  target: Target;
  name: string; // of what stops: "run 12", "3 runs"
  stopping: boolean;
  children: ReactNode; // the effect of the stop
}

export function StopButton({ target, name, stopping, children }: Props) {
  const stop = useStop(target);
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
        {stopping ? "Stopping…" : `Stop ${name}`}
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Stop ${name}?`}
          cancelLabel="Keep running"
          confirmLabel={`Stop ${name}`}
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

/** POST /runs/{id}/stop and /experiments/{id}/stop: request the stop of a run, or of all runs of an experiment. */
function useStop(target: Target) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => stop(target),
    onSuccess: () =>
      cache.invalidateQueries(
        target.kind === "run"
          ? { queryKey: keys.run(target.id), exact: true }
          : { queryKey: keys.experiment(target.id) },
      ),
  });
}

async function stop({ kind, id }: Target): Promise<void> {
  if (kind === "run")
    await body(client.POST("/api/v1/runs/{run_id}/stop", { params: { path: { run_id: id } } }));
  else
    await body(
      client.POST("/api/v1/experiments/{experiment_id}/stop", { params: { path: { experiment_id: id } } }),
    );
}
