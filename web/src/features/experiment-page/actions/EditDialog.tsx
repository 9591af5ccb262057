/** The dialog that changes the name, description, owner and project of an experiment. */
import { useState } from "react";
import { ApiError } from "@/shared/api/client";
import type { ExperimentDetail } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { useLabels } from "@/shared/lifecycle/changes";

const FIELDS = [
  ["name", "Name"],
  ["description", "Description"],
  ["owner", "Owner"],
  ["project", "Project"],
] as const;

interface Props {
  experiment: ExperimentDetail;
  refresh: () => Promise<unknown>;
  onClose: () => void;
}

export function EditDialog({ experiment, refresh, onClose }: Props) {
  const { name, description, owner, project } = experiment;
  const [texts, setTexts] = useState({ name, description, owner, project });
  const labels = useLabels({ kind: "experiment", id: experiment.id }, refresh);
  const fields = labels.error instanceof ApiError ? labels.error.fields : [];
  return (
    <Dialog
      title="Edit the labels"
      error={labels.error}
      onCancel={onClose}
      onSubmit={() => {
        labels.mutate(texts, { onSuccess: onClose });
      }}
      buttons={
        <button className="button primary" disabled={labels.isPending || !texts.name.trim()}>
          Save
        </button>
      }
    >
      {FIELDS.map(([field, label]) => (
        <TextField
          key={field}
          label={label}
          value={texts[field]}
          error={fields.find(({ path }) => path === field)?.message}
          onChange={(text) => {
            setTexts({ ...texts, [field]: text });
          }}
        />
      ))}
    </Dialog>
  );
}
