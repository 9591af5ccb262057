/** The dialog that adds runs to an experiment: further values of its axes, and points outside its grid. */
import { useState } from "react";
import { ApiError } from "@/shared/api/client";
import { ownValue } from "@/shared/format/value";
import type { ExperimentDetail } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { pluralize } from "@/shared/format/number";
import { useAddPoints } from "../api/useAddPoints";
import { examplePoint, POINT, readTexts } from "./pointTexts";

interface Props {
  experiment: ExperimentDetail;
  refresh: () => Promise<unknown>;
  onCancel: () => void;
  onResult: (text: string) => void;
}

export function PointsDialog({ experiment, refresh, onCancel, onResult }: Props) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const add = useAddPoints(experiment.id, refresh);
  const paths = Object.keys(experiment.spec.axes);
  const { asked, wrong, isEmpty } = readTexts(texts, paths);
  const fields = add.error instanceof ApiError ? add.error.fields : [];
  const field = (path: string, label: string, hint: string) => (
    <TextField
      key={path}
      {...{ label, hint }}
      value={ownValue(texts, path) ?? ""}
      error={wrong.get(path) ?? fields.find((issue) => belongsTo(issue.path, path))?.message}
      onChange={(text) => {
        setTexts({ ...texts, [path]: text });
      }}
    />
  );
  return (
    <Dialog
      title="Add runs"
      error={add.error}
      onCancel={onCancel}
      onSubmit={() => {
        add.mutate(asked, {
          onSuccess: ({ runs, existing }) => {
            const known = existing ? `; ${pluralize(existing, "point")} had a run already` : "";
            onResult(`${pluralize(runs.length, "run")} added${known}`);
          },
        });
      }}
      buttons={
        <button className="button primary" disabled={isEmpty || add.isPending}>
          Add runs
        </button>
      }
    >
      {paths.map((path) =>
        field(path, path, `further values, as 0.1, 0.2; now ${valuesOf(experiment, path)}`),
      )}
      {field(POINT, "A point outside the grid", `as ${JSON.stringify(examplePoint(experiment.spec))}`)}
    </Dialog>
  );
}

/** Return whether an invalid field of the request is of the text at `path`. */
function belongsTo(issue: string, path: string): boolean {
  return path === POINT ? issue.startsWith("points") : issue.startsWith(`axes.${path}`);
}

function valuesOf({ spec }: ExperimentDetail, path: string): string {
  return (spec.axes[path] ?? []).map((value) => JSON.stringify(value)).join(", ");
}
