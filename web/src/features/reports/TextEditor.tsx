/** The editor of a text of a report, in Markdown. */
import { useState } from "react";
import { useReplaceText } from "./api/useReport";
import styles from "./ReportPage.module.css";

interface Props {
  reportId: number;
  blockId: number;
  markdown: string;
  onClose: () => void;
}

export function TextEditor({ reportId, blockId, markdown, onClose }: Props) {
  const [draft, setDraft] = useState(markdown);
  const replace = useReplaceText(reportId);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        replace.mutate({ block: blockId, markdown: draft }, { onSuccess: onClose });
      }}
    >
      <textarea
        className="textInput"
        aria-label="Text in Markdown"
        rows={10}
        value={draft}
        onChange={(event) => {
          setDraft(event.target.value);
        }}
      />
      {replace.error && <p role="alert">The text was not stored: {replace.error.message}</p>}
      <p className={styles.textButtons}>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button className="button primary" disabled={replace.isPending}>
          Save
        </button>
      </p>
    </form>
  );
}
