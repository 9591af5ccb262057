/** The notes on a run or an experiment: shown as Markdown, edited as text. */
import { useState } from "react";
import type { Target } from "@/shared/api/target";
import { useLabels } from "@/shared/lifecycle/api/useLabels";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { Markdown } from "./Markdown";
import styles from "./NotesPanel.module.css";

interface Props {
  target: Target;
  notes: string;
  refresh: () => Promise<unknown>;
}

export function NotesPanel({ target, notes, refresh }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  const edit = (
    <button
      className={classNames("plain small", styles.notesLink)}
      onClick={() => {
        setDraft(notes);
      }}
    >
      {notes ? "edit" : "add notes"}
    </button>
  );
  if (draft === null && !notes) return <p className={styles.noNotes}>{edit}</p>;
  return (
    <section className={classNames("panel", styles.notesPanel)} aria-label="Notes">
      <PanelHeader actions={draft === null && edit}>
        <h2>Notes</h2>
      </PanelHeader>
      {draft === null ? (
        <Markdown text={notes} />
      ) : (
        <Editor
          {...{ target, draft, refresh }}
          onChange={setDraft}
          onClose={() => {
            setDraft(null);
          }}
        />
      )}
    </section>
  );
}

interface EditorProps {
  target: Target;
  draft: string;
  refresh: () => Promise<unknown>;
  onChange: (text: string) => void;
  onClose: () => void;
}

function Editor({ target, draft, refresh, onChange, onClose }: EditorProps) {
  const labels = useLabels(target, refresh);
  return (
    <form
      className={styles.editor}
      onSubmit={(event) => {
        event.preventDefault();
        labels.mutate({ notes: draft }, { onSuccess: onClose });
      }}
    >
      <textarea
        className="field"
        aria-label="Notes in Markdown"
        rows={8}
        value={draft}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      />
      {labels.error && <p role="alert">The notes were not stored: {labels.error.message}</p>}
      <p className={styles.editorButtons}>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button className="button primary" disabled={labels.isPending}>
          Save
        </button>
      </p>
    </form>
  );
}
