/** By which fields the runs are grouped: each can be removed, others added. */
import { useId } from "react";
import type { RunComparison } from "@/shared/api/types";
import { fieldTitle, groupFields, optionsOf } from "./fields";
import styles from "./GroupControl.module.css";

interface Props {
  comparison: RunComparison;
  fields: readonly string[];
  onFields: (fields: string[]) => void;
}

export function GroupControl({ comparison, fields, onFields }: Props) {
  const id = useId();
  const others = groupFields(comparison).filter((field) => !fields.includes(field));
  return (
    <div className={styles.groupControl} role="group" aria-label="Groups">
      <label htmlFor={id} className="small muted">
        {fields.length ? "Grouped by" : "Each run alone. Group by"}
      </label>
      {fields.map((field) => (
        <span key={field} className={styles.groupField}>
          <span title={field}>{fieldTitle(field)}</span>
          <button
            className="plain"
            aria-label={`Do not group by ${fieldTitle(field)}`}
            onClick={() => {
              onFields(fields.filter((other) => other !== field));
            }}
          >
            ×
          </button>
        </span>
      ))}
      <select
        id={id}
        className="textInput small"
        value=""
        onChange={(event) => {
          onFields([...fields, event.target.value]);
        }}
      >
        <option value="">add a field …</option>
        {optionsOf(others).map(([field, text]) => (
          <option key={field} value={field}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
