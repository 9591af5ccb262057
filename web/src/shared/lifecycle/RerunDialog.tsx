/** The dialog before a rerun: the same spec as a new experiment. */
import { useLocation } from "wouter";
import { ConfirmDialog } from "@/shared/dialog/ConfirmDialog";
import { pluralize } from "@/shared/format/number";
import { useCreate } from "./api/useCreate";

interface Props {
  origin: number; // id of the experiment that the new one repeats
  name: string; // "run 12"
  runs: number;
  document: object;
  points?: Record<string, unknown>[]; // outside the grid of the document
  onCancel: () => void;
}

export function RerunDialog({ origin, name, runs, document, points = [], onCancel }: Props) {
  const create = useCreate(origin, points);
  const [, navigate] = useLocation();
  return (
    <ConfirmDialog
      title={`Rerun ${name}?`}
      cancelLabel="Cancel"
      confirmLabel={`Submit ${pluralize(runs, "run")}`}
      harmless
      busy={create.isPending}
      error={create.error}
      onCancel={onCancel}
      onConfirm={() => {
        create.mutate(document, {
          onSuccess: ({ id }) => {
            navigate(`/experiments/${id}`);
          },
        });
      }}
    >
      The same spec is submitted as a new experiment, which starts from its first step. The original stays as
      it is.
    </ConfirmDialog>
  );
}
