/** The question before an action on the selected runs: its confirmation, or the tag. */
import { useState } from "react";
import { TextField } from "@/shared/controls/TextField";
import { ConfirmDialog } from "@/shared/dialog/ConfirmDialog";
import { Dialog } from "@/shared/dialog/Dialog";
import { pluralize } from "@/shared/format/number";
import type { Action } from "./apply";

interface Props {
  kind: Action["kind"];
  count: number; // of runs
  onAction: (action: Action) => void;
  onCancel: () => void;
}

export function ActionDialog({ kind, count, onAction, onCancel }: Props) {
  const runs = pluralize(count, "run");
  if (kind === "tag" || kind === "untag") return <TagDialog {...{ kind, runs, onAction, onCancel }} />;
  if (kind !== "stop" && kind !== "delete") return null;
  const isStop = kind === "stop";
  const confirmLabel = isStop ? `Stop ${runs}` : `Delete ${runs}`;
  return (
    <ConfirmDialog
      title={`${confirmLabel}?`}
      cancelLabel={isStop ? "Keep running" : "Cancel"}
      confirmLabel={confirmLabel}
      busy={false}
      error={null}
      onCancel={onCancel}
      onConfirm={() => {
        onAction({ kind });
      }}
    >
      {isStop
        ? "Runs that have ended stay as they are. The curves remain stored."
        : "Runs that have ended are removed with curves, logs and checkpoints. The page Deleted shows until when that can be undone."}
    </ConfirmDialog>
  );
}

interface TagProps {
  kind: "tag" | "untag";
  runs: string;
  onAction: (action: Action) => void;
  onCancel: () => void;
}

function TagDialog({ kind, runs, onAction, onCancel }: TagProps) {
  const [tag, setTag] = useState("");
  const isAdding = kind === "tag";
  const submit = () => {
    if (tag.trim()) onAction({ kind, tag: tag.trim() });
  };
  return (
    <Dialog
      title={isAdding ? `Tag ${runs}` : `Remove a tag from ${runs}`}
      onCancel={onCancel}
      onSubmit={submit}
      buttons={
        <button className="button primary" disabled={!tag.trim()}>
          {isAdding ? "Add the tag" : "Remove the tag"}
        </button>
      }
    >
      <TextField label="Tag" value={tag} onChange={setTag} />
    </Dialog>
  );
}
