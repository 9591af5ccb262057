/** The files of two code snapshots that differ, each with its unified diff. */
import type { FileDifference, SnapshotDifferences } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import styles from "./CodeDifferences.module.css";

const OPEN_FILES = 3; // of which the lines are shown at once

export function CodeDifferences({ code }: { code: SnapshotDifferences }) {
  if (!code.total) return <p className="muted">No difference.</p>;
  const hidden = code.total - code.files.length;
  return (
    <>
      {code.files.map((file, index) => (
        <FileLines key={file.path} file={file} open={index < OPEN_FILES} />
      ))}
      {hidden > 0 && <p className="muted">{pluralize(hidden, "more file")} differ.</p>}
    </>
  );
}

function FileLines({ file, open }: { file: FileDifference; open: boolean }) {
  const title = (
    <>
      <code>{file.path}</code> {file.change}
    </>
  );
  if (file.diff === null)
    return (
      <p className={styles.fileNote}>
        {title}: {file.note}
      </p>
    );
  return (
    <details className={styles.fileLines} open={open}>
      <summary>{title}</summary>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
      <pre tabIndex={0} aria-label={`Differences of ${file.path}`}>
        {file.diff.split("\n").map((line, index) => (
          <span key={index} className={classNames(lineClass(line))}>
            {line}
            {"\n"}
          </span>
        ))}
      </pre>
    </details>
  );
}

function lineClass(line: string): string | undefined {
  if (/^(---|\+\+\+|@@|old mode|new mode)/.test(line)) return styles.position;
  if (line.startsWith("+")) return styles.added;
  return line.startsWith("-") ? styles.removed : undefined;
}
