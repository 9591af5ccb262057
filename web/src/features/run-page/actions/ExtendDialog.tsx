/** The dialog that lets a run that is done go on to more epochs. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { body, client } from "@/shared/api/client";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { formatCount } from "@/shared/format/number";

interface Props {
  runId: number;
  epochs: number; // of the run now
  refresh: () => Promise<unknown>;
  onCancel: () => void;
  onResult: (text: string) => void;
}

export function ExtendDialog({ runId, epochs, refresh, onCancel, onResult }: Props) {
  const [text, setText] = useState(String(epochs * 2));
  const extend = useExtend(runId, refresh);
  const total = Number(text);
  const isMore = Number.isInteger(total) && total > epochs;
  return (
    <Dialog
      title={`Extend run ${runId}?`}
      error={extend.error}
      onCancel={onCancel}
      onSubmit={() => {
        if (!isMore) return;
        extend.mutate(total, {
          onSuccess: ({ steps, from_step }) => {
            onResult(
              `Queued to go on from step ${formatCount(from_step ?? 0)} to step ${formatCount(steps)}`,
            );
          },
        });
      }}
      buttons={
        <button className="button primary" disabled={!isMore || extend.isPending}>
          Extend
        </button>
      }
    >
      <TextField
        label="Epochs of the whole run"
        type="number"
        value={text}
        onChange={setText}
        hint={`The run has ${epochs} epochs. It continues from its newest checkpoint.`}
        error={isMore ? undefined : `an integer above ${epochs}, the epochs of the run now`}
      />
    </Dialog>
  );
}

/** POST /runs/{id}/extend: let a run that is done go on to more epochs. */
function useExtend(id: number, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (epochs: number) => {
      const params = { path: { run_id: id } };
      return body(client.POST("/api/v1/runs/{run_id}/extend", { params, body: { epochs } }));
    },
    onSuccess: refresh,
  });
}
