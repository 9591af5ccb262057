/** The dialog of an action on an experiment. */
import { useLocation } from "wouter";
import type { ExperimentDetail } from "@/shared/api/types";
import { DeleteDialog } from "@/shared/lifecycle/DeleteDialog";
import { RerunDialog } from "@/shared/lifecycle/RerunDialog";
import { NotifyDialog } from "../notify/NotifyDialog";
import { EditDialog } from "./EditDialog";
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
