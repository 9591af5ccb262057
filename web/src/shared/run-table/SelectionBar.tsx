/** What may be done with the selected runs: show them alone, stop, retry, tag, archive, delete. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { keys } from "@/shared/api/keys";
import { Menu, type MenuItem } from "@/shared/controls/Menu";
import { pluralize } from "@/shared/format/number";
import { recordDeletion } from "@/shared/lifecycle/deletions";
import { hasEnded } from "@/shared/state/state";
import { compareAddress, MOST_COMPARED } from "./addresses";
import type { RowSelection, SelectedRun } from "./useRowSelection";
import { type Action, ActionDialog, type Applied, applyToRuns } from "./ActionDialog";
import { ExportMenu } from "./ExportMenu";
import styles from "./SelectionBar.module.css";

const NO_QUERY = { where: "", q: "", sort: "id", archived: false };
const MOST_NAMED = 200; // runs of a query: its text has at most 2,000 characters

interface Props {
  selection: RowSelection;
  columns: string[]; // of the table, which an export of runs has as well
}

export function SelectionBar({ selection, columns }: Props) {
  const { runs, clear } = selection;
  const [asked, setAsked] = useState<Action["kind"] | null>(null);
  const work = useActions(runs);
  const start = (action: Action) => {
    setAsked(null);
    void work.apply(action);
  };
  if (!runs.length && !work.text) return null;
  return (
    <div className={styles.selectionBar} role="group" aria-label="Selected runs">
      {runs.length > 0 && (
        <>
          <strong>{pluralize(runs.length, "run")} selected</strong>
          <Ways ids={runs.map(({ id }) => id)} columns={columns} />
          <Menu label="Actions" items={itemsOf(runs, start, setAsked)} />
          <button className="plain muted" onClick={clear}>
            Clear
          </button>
        </>
      )}
      <span role="status">{work.text}</span>
      <Refusals texts={work.refused} />
      {asked && (
        <ActionDialog
          kind={asked}
          count={runs.length}
          onAction={start}
          onCancel={() => {
            setAsked(null);
          }}
        />
      )}
    </div>
  );
}

/** What shows or saves the selected runs and does not change them. */
function Ways({ ids, columns }: { ids: number[]; columns: string[] }) {
  return (
    <>
      {ids.length <= MOST_COMPARED && (
        <Link className="button" href={compareAddress(ids)}>
          Compare
        </Link>
      )}
      {ids.length <= MOST_NAMED && (
        <Link className="button" href={queryAddress(ids)}>
          Show only these
        </Link>
      )}
      <ExportMenu asked={{ ...NO_QUERY, columns, runs: ids }} />
    </>
  );
}

function Refusals({ texts }: { texts: string[] }) {
  if (!texts.length) return null;
  return (
    <ul className={styles.refusals}>
      {texts.slice(0, 5).map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

/** Return the address of the table with these runs alone. */
function queryAddress(ids: number[]): string {
  const where = `id in (${ids.join(", ")})`;
  return `/runs?${new URLSearchParams({ where }).toString()}`;
}

function itemsOf(
  runs: SelectedRun[],
  start: (action: Action) => void,
  ask: (kind: Action["kind"]) => void,
): MenuItem[] {
  const [ended, active] = [
    runs.filter(({ state }) => hasEnded(state)),
    runs.filter(({ state }) => !hasEnded(state)),
  ];
  const asking = (label: string, kind: Action["kind"], danger = false): MenuItem => ({
    label,
    danger,
    onSelect: () => {
      ask(kind);
    },
  });
  const starting = (label: string, action: Action): MenuItem => ({
    label,
    onSelect: () => {
      start(action);
    },
  });
  return [
    ...(active.length ? [asking("Stop…", "stop", true)] : []),
    ...(runs.some(({ state }) => state === "failed" || state === "cancelled")
      ? [starting("Retry failed and stopped", { kind: "retry" })]
      : []),
    asking("Add a tag…", "tag"),
    asking("Remove a tag…", "untag"),
    starting("Archive", { kind: "archive" }),
    starting("Unarchive", { kind: "unarchive" }),
    ...(ended.length ? [asking("Delete…", "delete", true)] : []),
  ];
}

/** The progress and the result of the latest action, as a text. */
function useActions(runs: SelectedRun[]) {
  const cache = useQueryClient();
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<string[]>([]);
  const apply = async (action: Action) => {
    setRefused([]);
    setText(`${pluralize(runs.length, "run")} …`);
    const applied = await applyToRuns(runs, action, (count) => {
      setText(`${count} of ${pluralize(runs.length, "run")} …`);
    });
    setText(resultText(action, applied));
    offerUndo(applied);
    setRefused(applied.refused);
    await cache.invalidateQueries({ queryKey: keys.runTables() });
    await cache.invalidateQueries({ queryKey: keys.allRunGroups() });
  };
  return { text, refused, apply };
}

/** Offer the undo of deletions; the first of them that ends is the moment to name. */
function offerUndo({ restorable }: Applied) {
  const until = restorable.map((one) => one.until).toSorted()[0];
  if (until === undefined) return;
  const targets = restorable.map(({ id }) => ({ kind: "run", id }) as const);
  recordDeletion({ targets, name: pluralize(targets.length, "run"), until });
}

const PAST: Record<Action["kind"], string> = {
  stop: "asked to stop",
  retry: "asked to go on",
  archive: "archived",
  unarchive: "returned from the archive",
  delete: "deleted",
  tag: "tagged",
  untag: "without the tag",
};

function resultText({ kind }: Action, { done, refused }: Applied): string {
  const failed = refused.length ? `, ${refused.length} refused` : "";
  return `${pluralize(done, "run")} ${PAST[kind]}${failed}`;
}
