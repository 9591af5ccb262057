/** The question for a new title of a report. */
import { useState } from "react";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import type { useChangeReport } from "./api/useReport";

interface Props {
  title: string;
  change: ReturnType<typeof useChangeReport>;
  onClose: () => void;
}

export function RenameDialog({ title, change, onClose }: Props) {
  const [text, setText] = useState(title);
  return (
    <Dialog
      title="Rename the report"
      error={change.error}
      onCancel={onClose}
      onSubmit={() => {
        if (text.trim()) change.mutate({ title: text.trim() }, { onSuccess: onClose });
      }}
      buttons={
        <button className="button primary" disabled={!text.trim() || change.isPending}>
          Rename
        </button>
      }
    >
      <TextField label="Title" value={text} onChange={setText} />
    </Dialog>
  );
}
