/** The dialog before a rerun: the same spec as a new experiment, of a workflow perhaps from one of its steps on. */
import { useLocation } from "wouter";
import { ConfirmDialog } from "@/shared/dialog/ConfirmDialog";
import { pluralize } from "@/shared/format/number";
import { type Copied, useCopy } from "./create";

interface Props {
  origin: number; // id of the experiment that the new one repeats
  name: string; // "run 12"
  runs?: number; // that are submitted, if it is known
  copied: Copied; // whose document is submitted
  hasPoints?: boolean; // outside the grid of the document
  fromStep?: string;
  onCancel: () => void;
}

export function RerunDialog({ origin, name, runs, copied, hasPoints = false, fromStep, onCancel }: Props) {
  const create = useCopy(copied, origin, hasPoints, fromStep);
  const [, navigate] = useLocation();
  return (
    <ConfirmDialog
      title={fromStep ? `Rerun ${name} from step ${fromStep} on?` : `Rerun ${name}?`}
      cancelLabel="Cancel"
      confirmLabel={runs === undefined ? "Submit" : `Submit ${pluralize(runs, "run")}`}
      harmless
      busy={create.isPending}
      error={create.error}
      onCancel={onCancel}
      onConfirm={() => {
        create.mutate(undefined, {
          onSuccess: ({ id }) => {
            navigate(`/experiments/${id}`);
          },
        });
      }}
    >
      {fromStep
        ? `The same spec is submitted as a new experiment. Step ${fromStep} and all that need it are carried out; other steps take their finished results if their runs have "reuse: true". The original stays as it is.`
        : "The same spec is submitted as a new experiment, which starts from its first step. The original stays as it is."}
    </ConfirmDialog>
  );
}
