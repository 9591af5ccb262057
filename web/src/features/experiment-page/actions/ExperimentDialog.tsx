/** The dialog of an action on an experiment. */
import { useState } from "react";
import { useLocation } from "wouter";
import { ApiError } from "@/shared/api/client";
import type { ExperimentDetail } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { useLabels } from "@/shared/lifecycle/changes";
import { DeleteDialog } from "@/shared/lifecycle/DeleteDialog";
import { RerunDialog } from "@/shared/lifecycle/RerunDialog";
import { NotifyDialog } from "./NotifyDialog";
import { PointsDialog } from "./PointsDialog";

export type Opened = "edit" | "points" | "rerun" | "notify" | "delete";

interface Props {
  opened: Opened;
  experiment: ExperimentDetail;
  refresh: () => Promise<unknown>;
  close: (outcome?: string) => void;
}

export function ExperimentDialog({ opened, experiment, refresh, close }: Props) {
  const [, navigate] = useLocation();
  const onCancel = () => {
    close();
  };
  const { id, name, runs } = experiment;
  const copy = { origin: id, copied: { kind: "experiment", id } as const, onCancel };
  switch (opened) {
    case "edit":
      return <EditDialog {...{ experiment, refresh }} onClose={onCancel} />;
    case "points":
      return <PointsDialog {...{ experiment, refresh, onCancel }} onResult={close} />;
    case "rerun":
      return <RerunDialog {...copy} name={name} runs={runs} hasPoints={experiment.added_points.length > 0} />;
    case "notify":
      return <NotifyDialog experimentId={id} onClose={onCancel} />;
    case "delete":
      return (
        <DeleteDialog
          target={{ kind: "experiment", id }}
          {...{ name, onCancel }}
          onDeleted={() => {
            void refresh();
            navigate("/");
          }}
        />
      );
  }
}

const FIELDS = [
  ["name", "Name"],
  ["description", "Description"],
  ["owner", "Owner"],
  ["project", "Project"],
] as const;

interface EditDialogProps {
  experiment: ExperimentDetail;
  refresh: () => Promise<unknown>;
  onClose: () => void;
}

/** The dialog that changes the name, description, owner and project of an experiment. */
function EditDialog({ experiment, refresh, onClose }: EditDialogProps) {
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
