/** The differences between this run and another one that the user names: spec, code and environment. */
import { useState, type SyntheticEvent } from "react";
import { Link } from "wouter";
import type { RunDifferences } from "@/shared/api/types";
import { errorText } from "@/shared/api/client";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { compareAddress } from "@/shared/run-table/addresses";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { useDifferences } from "../api/useDifferences";
import { CodeDifferences } from "./CodeDifferences";
import styles from "./ComparisonPanel.module.css";
import { DifferenceTable } from "./DifferenceTable";

export function ComparisonPanel({ runId }: { runId: number }) {
  const other = runOf(useAddress().get("other") ?? "");
  const { data, error, isFetching } = useDifferences(runId, other);
  return (
    <section className={classNames("panel", styles.comparison)} aria-label="Compare with another run">
      <PanelHeader>
        <h2>Compare with another run</h2>
      </PanelHeader>
      <RunForm key={other} other={other} />
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

/** Return the id that a text is; null for any other text. */
function runOf(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

function RunForm({ other }: { other: number | null }) {
  const [text, setText] = useState(other === null ? "" : String(other));
  const run = runOf(text);
  function submit(event: SyntheticEvent) {
    event.preventDefault();
    if (run !== null) changeAddress({ other: String(run) }, true);
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
      <p>
        <Link href={compareAddress([found.run, found.other])}>Curves and values of both runs</Link>
      </p>
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
