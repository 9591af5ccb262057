/** The differences between this run and another one that the user names: spec, code and environment. */
import { useState, type SyntheticEvent } from "react";
import type { RunDifferences } from "@/shared/api/types";
import { errorText } from "@/shared/messages/errorText";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { useDifferences } from "../api/useDifferences";
import { CodeDifferences } from "./CodeDifferences";
import styles from "./ComparisonPanel.module.css";
import { DifferenceTable } from "./DifferenceTable";

export function ComparisonPanel({ runId }: { runId: number }) {
  const [other, setOther] = useState<number | null>(null);
  const { data, error, isFetching } = useDifferences(runId, other);
  return (
    <section className={classNames("panel", styles.comparison)} aria-label="Compare with another run">
      <PanelHeader>
        <h2>Compare with another run</h2>
      </PanelHeader>
      <RunForm onChoice={setOther} />
      <div aria-live="polite" aria-busy={isFetching}>
        {error ? (
          <p>The runs cannot be compared: {errorText(error)}.</p>
        ) : (
          data && <Differences found={data} />
        )}
      </div>
    </section>
  );
}

function RunForm({ onChoice }: { onChoice: (run: number) => void }) {
  const [text, setText] = useState("");
  const run = /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
  function submit(event: SyntheticEvent) {
    event.preventDefault();
    if (run !== null) onChoice(run);
  }
  return (
    <form className={styles.choice} onSubmit={submit}>
      <label>
        Run{" "}
        <input
          inputMode="numeric"
          size={7}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
      </label>
      <button type="submit" className="button" disabled={run === null}>
        Compare
      </button>
    </form>
  );
}

function Differences({ found }: { found: RunDifferences }) {
  const heads: [string, string] = [`Run ${found.run}`, `Run ${found.other}`];
  return (
    <>
      <h3>Spec</h3>
      <DifferenceTable name="Differences of the specs" heads={heads} values={found.spec} />
      <h3>Code</h3>
      {found.code ? <CodeDifferences code={found.code} /> : <Note text={found.code_note} />}
      <h3>Environment</h3>
      {found.environment_note ? (
        <Note text={found.environment_note} />
      ) : (
        <DifferenceTable name="Differences of the environments" heads={heads} values={found.environment} />
      )}
    </>
  );
}

/** Show a sentence of the service, which has no full stop and begins with a small letter. */
function Note({ text }: { text: string | null }) {
  return <p className="muted">{text ? `${text[0]?.toUpperCase()}${text.slice(1)}.` : ""}</p>;
}
