/** The notes on a run or an experiment: shown as Markdown, edited as text. */
import { useState } from "react";
import type { Target } from "@/shared/api/target";
import { useLabels } from "@/shared/lifecycle/changes";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { Markdown } from "./Markdown";
import styles from "./NotesPanel.module.css";

interface Props {
  target: Target;
  notes: string;
  refresh: () => Promise<unknown>;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
}

export function NotesPanel({ target, notes, refresh, isEditing, onEdit }: Props) {
  const edit = (
    <button
      className={classNames("plain small", styles.notesLink)}
      onClick={() => {
        onEdit(true);
      }}
    >
      edit
    </button>
  );
  return (
    <section className={classNames("panel", styles.notesPanel)} aria-label="Notes">
      <PanelHeader actions={!isEditing && edit}>
        <h2>Notes</h2>
      </PanelHeader>
      {isEditing ? (
        <Editor
          {...{ target, notes, refresh }}
          onClose={() => {
            onEdit(false);
          }}
        />
      ) : (
        <Markdown text={notes} />
      )}
    </section>
  );
}

interface EditorProps {
  target: Target;
  notes: string;
  refresh: () => Promise<unknown>;
  onClose: () => void;
}

function Editor({ target, notes, refresh, onClose }: EditorProps) {
  const [draft, setDraft] = useState(notes);
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
        className="textInput"
        aria-label="Notes in Markdown"
        rows={8}
        value={draft}
        onChange={(event) => {
          setDraft(event.target.value);
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
