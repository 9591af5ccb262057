/** The differences between this run and another one that the user names: spec, code and environment. */
import { capitalized } from "@/shared/format/value";
import { skipToken, useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Link } from "wouter";
import { body, client, errorText } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type {
  FileDifference,
  RunDifferences,
  SnapshotDifferences,
  ValueDifference,
} from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { valueText } from "@/shared/format/value";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { compareAddress } from "@/shared/run-table/addresses";
import styles from "./ComparisonPanel.module.css";

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
  return <p className="muted">{text ? `${capitalized(text)}.` : ""}</p>;
}

interface Props {
  name: string;
  heads: [string, string];
  values: ValueDifference[];
}

/** Values that differ between two runs, by dotted path. */
function DifferenceTable({ name, heads, values }: Props) {
  if (!values.length) return <p className="muted">No difference.</p>;
  return (
    <div className={styles.differenceTable}>
      <table aria-label={name}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {values.map(({ path, first, second }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{cellText(first)}</td>
              <td>{cellText(second)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellText(value: unknown): string {
  return typeof value === "string" ? value : valueText(value);
}

const OPEN_FILES = 3; // of which the lines are shown at once

/** The files of two code snapshots that differ, each with its unified diff. */
function CodeDifferences({ code }: { code: SnapshotDifferences }) {
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

/** GET /runs/{id}/differences: how the run differs from another one; nothing is requested without another one. */
function useDifferences(id: number, other: number | null) {
  return useQuery({
    queryKey: keys.runDifferences(id, other),
    queryFn:
      other === null
        ? skipToken
        : ({ signal }) => {
            const params = { path: { run_id: id }, query: { other } };
            return body(client.GET("/api/v1/runs/{run_id}/differences", { params, signal }));
          },
  });
}
