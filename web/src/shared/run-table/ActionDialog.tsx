/** An action on the selected runs, and the question before it: its confirmation, or the tag. */
import { useState } from "react";
import { body, client, errorText } from "@/shared/api/client";
import type { Deleted, RunChange } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { ConfirmDialog } from "@/shared/dialog/ConfirmDialog";
import { Dialog } from "@/shared/dialog/Dialog";
import { pluralize } from "@/shared/format/number";
import type { SelectedRun } from "./useRowSelection";

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

export type Action =
  { kind: "stop" | "retry" | "archive" | "unarchive" | "delete" } | { kind: "tag" | "untag"; tag: string };

export interface Applied {
  done: number;
  restorable: { id: number; until: string }[]; // deletions that can be undone
  refused: string[]; // "run 12: ..."
}

const AT_ONCE = 6; // as many as a browser sends to one host

/** Send one request for each run, a few at a time; a refused one does not stop the others. */
export async function applyToRuns(
  runs: readonly SelectedRun[],
  action: Action,
  onProgress: (count: number) => void,
): Promise<Applied> {
  const waiting = [...runs];
  const applied: Applied = { done: 0, restorable: [], refused: [] };
  const work = async () => {
    for (let run = waiting.shift(); run; run = waiting.shift()) {
      try {
        if (action.kind === "delete") {
          const { restorable_until: until } = await remove(run.id);
          if (until) applied.restorable.push({ id: run.id, until });
        } else await applyToRun(run.id, action);
        applied.done += 1;
      } catch (error) {
        applied.refused.push(`run ${run.id}: ${errorText(error as Error)}`);
      }
      onProgress(applied.done + applied.refused.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs.length) }, work));
  return applied;
}

async function applyToRun(id: number, action: Exclude<Action, { kind: "delete" }>): Promise<unknown> {
  const params = { path: { run_id: id } };
  if (action.kind === "stop") return body(client.POST("/api/v1/runs/{run_id}/stop", { params }));
  if (action.kind === "retry") {
    const states: ("failed" | "cancelled")[] = ["failed", "cancelled"];
    const asked = { states, accept_new_data: false };
    return body(client.POST("/api/v1/runs/{run_id}/retry", { params, body: asked }));
  }
  return body(client.PATCH("/api/v1/runs/{run_id}", { params, body: changeOf(action) }));
}

/** Return the change of a label; a field that it lacks stays as it is. */
function changeOf(action: Action): RunChange {
  const change: Partial<RunChange> =
    action.kind === "tag"
      ? { add_tags: [action.tag] }
      : action.kind === "untag"
        ? { remove_tags: [action.tag] }
        : { archived: action.kind === "archive" };
  return change as RunChange;
}

/** The service asks for the name of the run's folder, which its size has: the reader has confirmed all runs at once. */
async function remove(id: number): Promise<Deleted> {
  const path = { run_id: id };
  const { confirm, blocked_by } = await body(client.GET("/api/v1/runs/{run_id}/size", { params: { path } }));
  if (blocked_by.length) throw new Error("the run has not ended");
  return body(client.DELETE("/api/v1/runs/{run_id}", { params: { path, query: { confirm } } }));
}
