/** The labels of a run or an experiment in one line, and its notes below. */
import { type ReactNode, useState } from "react";
import type { Target } from "@/shared/api/target";
import { classNames } from "@/shared/page/classNames";
import styles from "./Labels.module.css";
import { NotesPanel } from "./NotesPanel";
import { TagList } from "./TagList";

interface Props {
  target: Target;
  tags: string[];
  notes: string;
  refresh: () => Promise<unknown>;
  children?: ReactNode; // labels before the tags
}

export function Labels({ target, tags, notes, refresh, children }: Props) {
  const [isEditing, setEditing] = useState(false);
  return (
    <>
      <div className={classNames("small", styles.labels)}>
        {children}
        <TagList {...{ target, tags, refresh }} />
        {!notes && !isEditing && (
          <button
            className={classNames("plain", styles.addNotes)}
            onClick={() => {
              setEditing(true);
            }}
          >
            add notes
          </button>
        )}
      </div>
      {(notes || isEditing) && <NotesPanel {...{ target, notes, refresh, isEditing }} onEdit={setEditing} />}
    </>
  );
}
