/** Which runs are compared: a form that adds some by their ids, and a list from which each can be removed. */
import { type SyntheticEvent, useState } from "react";
import { Link } from "wouter";
import { classNames } from "@/shared/page/classNames";
import { type CompareState, readIds } from "./useCompareState";
import styles from "./RunChoice.module.css";

interface Props {
  runs: readonly number[];
  change: (change: Partial<CompareState>) => void;
}

export function RunChoice({ runs, change }: Props) {
  const [text, setText] = useState("");
  const added = readIds(text);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!added.length) return;
    change({ runs: [...new Set([...runs, ...added])], where: "" });
    setText("");
  };
  return (
    <div className={styles.runChoice}>
      <form onSubmit={submit}>
        <label className="small muted" htmlFor="added-runs">
          Add runs
        </label>
        <input
          id="added-runs"
          className="textInput small"
          placeholder="ids: 12, 15"
          inputMode="numeric"
          size={14}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <button type="submit" className="button" disabled={!added.length}>
          Add
        </button>
      </form>
      <Link href="/runs" className="button">
        Choose in the table
      </Link>
      {runs.length > 0 && <RunList runs={runs} change={change} />}
    </div>
  );
}

function RunList({ runs, change }: Props) {
  return (
    <details className={styles.runList}>
      <summary className="small muted">Runs</summary>
      <ul>
        {runs.map((id) => (
          <li key={id}>
            <Link href={`/runs/${id}`}>{`Run ${id}`}</Link>
            <button
              className={classNames("plain", styles.removeRun)}
              aria-label={`Remove run ${id}`}
              onClick={() => {
                change({ runs: runs.filter((other) => other !== id), where: "" });
              }}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
