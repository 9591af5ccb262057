/** The dialog before a deletion: what it removes, and the text that the reader types to confirm it. */
import { useState } from "react";
import type { Target } from "@/shared/api/target";
import type { Deleted, StoredSize } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { formatBytes, pluralize } from "@/shared/format/number";
import { formatRoughly } from "@/shared/format/time";
import { errorText } from "@/shared/api/client";
import { recordDeletion, useDelete, useSize } from "./deletions";

interface Props {
  target: Target;
  name: string; // "run 12"
  onCancel: () => void;
  onDeleted: () => void;
}

export function DeleteDialog({ target, name, onCancel, onDeleted }: Props) {
  const [typed, setTyped] = useState("");
  const size = useSize(target);
  const deletion = useDelete(target);
  const { data } = size;
  const isConfirmed = data?.confirm === typed && !data.blocked_by.length;
  return (
    <Dialog
      title={`Delete ${name}?`}
      error={deletion.error}
      onCancel={onCancel}
      onSubmit={() => {
        const onSuccess = ({ restorable_until }: Deleted) => {
          if (restorable_until) recordDeletion({ targets: [target], name, until: restorable_until });
          onDeleted();
        };
        if (isConfirmed) deletion.mutate(typed, { onSuccess });
      }}
      buttons={
        <button className="button danger firm" disabled={!isConfirmed || deletion.isPending}>
          Delete {name}
        </button>
      }
    >
      {data ? (
        <Question {...{ size: data, typed }} onType={setTyped} />
      ) : (
        <p className="muted">
          {size.error ? `The size cannot be shown: ${errorText(size.error)}.` : "Counting the files …"}
        </p>
      )}
    </Dialog>
  );
}

interface QuestionProps {
  size: StoredSize;
  typed: string;
  onType: (text: string) => void;
}

function Question({ size, typed, onType }: QuestionProps) {
  if (size.blocked_by.length)
    return (
      <p>
        Only what has ended can be deleted. Stop {size.blocked_by.length === 1 ? "this run" : "these runs"}{" "}
        first: {size.blocked_by.slice(0, 10).join(", ")}
        {size.blocked_by.length > 10 && " and others"}.
      </p>
    );
  return (
    <>
      <p>
        This removes <b>{sizeText(size)}</b>, with curves, logs and checkpoints. {undoText(size.undo_hours)}
      </p>
      <TextField label={`Type ${size.confirm} to confirm`} value={typed} onChange={onType} />
    </>
  );
}

/** Return for how long the deletion can be undone. */
function undoText(hours: number): string {
  if (!hours) return "It cannot be undone.";
  return `You can undo it for ${formatRoughly(3600 * hours)}; the files stay for so long.`;
}

/** Return "3 runs, 412 files, 1.25 GB". */
function sizeText({ runs, files, size_bytes, is_complete }: StoredSize): string {
  const least = is_complete ? "" : "more than ";
  return [pluralize(runs, "run"), `${least}${pluralize(files, "file")}`, formatBytes(size_bytes)].join(", ");
}
