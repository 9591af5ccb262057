/** The dialog that adds runs to an experiment: further values of its axes, and points outside its grid. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, body, client } from "@/shared/api/client";
import type { ExperimentDetail } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { pluralize } from "@/shared/format/number";
import { ownValue } from "@/shared/format/value";

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

const POINT = " point"; // no axis has this name

type Spec = ExperimentDetail["spec"];

/** Return a point with fields of this experiment: of its axes, else a parameter of its program. */
function examplePoint({ axes, base }: Spec): Record<string, unknown> {
  const varied = Object.entries(axes).map(([path, values]) => [path, values.at(-1)] as const);
  if (varied.length) return Object.fromEntries(varied.slice(0, 2));
  if (base?.kind !== "program") return { batch: 2048, seed: 1 };
  const [first] = Object.entries(base.parameters).filter(([, value]) => typeof value !== "object");
  return first ? { [`parameters.${first[0]}`]: first[1] } : { "resources.minutes": 120 };
}

/** Return the points of the texts, the error of each text that cannot be read, and whether there is nothing to add. */
function readTexts(texts: Record<string, string>, paths: string[]) {
  const wrong = new Map<string, string>();
  const attempt = <T,>(path: string, reader: (text: string) => T): T | null => {
    const text = ownValue(texts, path)?.trim();
    if (!text) return null;
    try {
      return reader(text);
    } catch (error) {
      wrong.set(path, (error as Error).message);
      return null;
    }
  };
  const found = paths.map((path) => [path, attempt(path, readValues)] as const);
  const axes = Object.fromEntries(found.flatMap(([path, values]) => (values ? [[path, values]] : [])));
  const point = attempt(POINT, readPoint);
  const isEmpty = (!Object.keys(axes).length && !point) || wrong.size > 0;
  return { asked: { axes, points: point ? [point] : [] }, wrong, isEmpty };
}

/** Return the values of "0.1, 0.2" or "ring, torus"; throw an error with the reason for a text that has none. */
function readValues(text: string): unknown[] {
  try {
    return JSON.parse(`[${text}]`) as unknown[];
  } catch {
    if (/[{}[\]"]/.test(text)) throw new Error("values in JSON, with commas between them");
    return text.split(",").map((word) => plainValue(word.trim()));
  }
}

/** Return the point of `{"batch": 2048}`; throw an error with the reason for any other text. */
function readPoint(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error('an object in JSON, as {"batch": 2048}');
  return value as Record<string, unknown>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function plainValue(word: string): unknown {
  return parsed(word) ?? word;
}

export interface NewPoints {
  axes: Record<string, unknown[]>;
  points: Record<string, unknown>[];
}

/** POST /experiments/{id}/points: add runs to an experiment. */
function useAddPoints(id: number, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (asked: NewPoints) => {
      const params = { path: { experiment_id: id } };
      const request = { params, body: { ...asked, like: null } };
      return body(client.POST("/api/v1/experiments/{experiment_id}/points", request));
    },
    onSuccess: refresh,
  });
}
