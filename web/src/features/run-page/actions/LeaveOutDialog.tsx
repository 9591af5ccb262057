/** The dialog that leaves a run out of the answers of its experiment, with the reason. */
import { useState } from "react";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { useLabels } from "@/shared/lifecycle/changes";

interface Props {
  runId: number;
  refresh: () => Promise<unknown>;
  onCancel: () => void;
  onResult: (text: string) => void;
}

export function LeaveOutDialog({ runId, refresh, onCancel, onResult }: Props) {
  const [text, setText] = useState("");
  const labels = useLabels({ kind: "run", id: runId }, refresh);
  const reason = text.trim();
  return (
    <Dialog
      title={`Leave run ${runId} out of answers?`}
      error={labels.error}
      onCancel={onCancel}
      onSubmit={() => {
        if (!reason) return;
        labels.mutate(
          { left_out: reason },
          {
            onSuccess: () => {
              onResult("Left out of answers");
            },
          },
        );
      }}
      buttons={
        <button className="button primary" disabled={!reason || labels.isPending}>
          Leave out
        </button>
      }
    >
      <TextField
        label="Reason"
        value={text}
        onChange={setText}
        hint="The answer shows it to everybody. The run and its curves stay as they are."
      />
    </Dialog>
  );
}
