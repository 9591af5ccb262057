/** The invalid fields of a text; a button before each leads to the line of the field. */
import type { RefObject } from "react";
import type { ApiError } from "@/shared/api/client";
import { lineOf } from "@/shared/spec/yamlText";
import styles from "./FieldErrors.module.css";

interface Props {
  fields: ApiError["fields"];
  text: string;
  area: RefObject<HTMLTextAreaElement | null>; // with the text
}

export function FieldErrors({ fields, text, area }: Props) {
  if (!fields.length) return null;
  return (
    <ul className={styles.fieldErrors} role="alert" aria-label="Errors">
      {fields.map(({ path, message }) => {
        const line = path ? lineOf(text, path) : null;
        return (
          <li key={`${path} ${message}`}>
            {line !== null && (
              <button
                type="button"
                className="plain"
                onClick={() => {
                  selectLine(area.current, line);
                }}
              >
                line {line + 1}
              </button>
            )}
            {path && <code>{path}</code>} {message}
          </li>
        );
      })}
    </ul>
  );
}

/** Select a line of a text area, so that it is in view. */
function selectLine(area: HTMLTextAreaElement | null, line: number): void {
  if (!area) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line).join("\n").length + (line ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line]?.length ?? 0));
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(0, line - 3);
}
