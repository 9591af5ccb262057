/** What differs between the runs: a column for each of a few runs, else the values with the number of their runs. */
import { capitalized } from "@/shared/format/value";
import { useState } from "react";
import { Link } from "wouter";
import type { ComparedField, RunComparison } from "@/shared/api/types";
import { valueText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { fieldOf } from "../groups/fields";
import styles from "./Tables.module.css";

interface Props {
  comparison: RunComparison;
  grouped: readonly string[]; // fields by which the runs are grouped
  onGroup: (field: string) => void;
}

const MOST_COLUMNS = 8; // runs with a column of their own
const MOST_ROWS = 40; // before a click shows all
const MOST_VALUES = 12; // of a field
const HASH = 12; // characters of a snapshot's hash

export function DifferenceTable({ comparison, grouped, onGroup }: Props) {
  const { runs, spec, code, environment, environment_note } = comparison;
  if (runs.length < 2) return null;
  const shownCode = code && { ...code, choices: code.choices.map(shortHash) };
  return (
    <section className={classNames("panel", styles.compareTable)} aria-label="Differences">
      <header className={styles.tableHead}>
        <h2>Differences</h2>
        <span className="small muted">fields that all runs have alike are hidden</span>
      </header>
      {!spec.length && !code && !environment.length && (
        <p className="muted">The runs differ in nothing that is recorded.</p>
      )}
      <Part name="Spec" {...{ runs, grouped, onGroup }} fields={spec} />
      <Part name="Code" {...{ runs, grouped }} fields={shownCode ? [shownCode] : []} />
      <Part name="Environment" {...{ runs, grouped }} fields={environment} />
      {environment_note && <p className="small muted">{capitalized(environment_note)}.</p>}
    </section>
  );
}

interface PartProps {
  name: string;
  runs: readonly number[];
  fields: readonly ComparedField[];
  grouped: readonly string[];
  onGroup?: (field: string) => void;
}

function Part({ name, runs, fields, grouped, onGroup }: PartProps) {
  const [isUnfolded, setUnfolded] = useState(false);
  if (!fields.length) return null;
  const shown = isUnfolded ? fields : fields.slice(0, MOST_ROWS);
  return (
    <>
      <ScrollRegion className={classNames("scroll", styles.tableScroll)} label={`Differences: ${name}`}>
        <table className="small">
          <thead>
            <tr>
              <th scope="col">{name}</th>
              <Heads runs={runs} />
            </tr>
          </thead>
          <tbody>
            {shown.map((field) => (
              <tr key={field.path}>
                <th scope="row">
                  <Path path={field.path} {...{ grouped, onGroup }} />
                </th>
                <Cells field={field} runs={runs} />
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {fields.length > shown.length && (
        <button
          className="button small"
          onClick={() => {
            setUnfolded(true);
          }}
        >
          {`${fields.length - shown.length} more`}
        </button>
      )}
    </>
  );
}

function Heads({ runs }: { runs: readonly number[] }) {
  if (runs.length > MOST_COLUMNS) return <th scope="col">Values, and the number of their runs</th>;
  return runs.map((id) => (
    <th key={id} scope="col">
      <Link href={`/runs/${id}`}>{`Run ${id}`}</Link>
    </th>
  ));
}

function Cells({ field, runs }: { field: ComparedField; runs: readonly number[] }) {
  if (runs.length > MOST_COLUMNS) return <td>{countsText(field)}</td>;
  return field.places.map((place, at) => <td key={runs[at]}>{choiceText(field, place)}</td>);
}

function Path({
  path,
  grouped,
  onGroup,
}: {
  path: string;
  grouped: readonly string[];
  onGroup: PartProps["onGroup"];
}) {
  const field = fieldOf(path);
  return (
    <>
      <code>{path}</code>
      {onGroup && !grouped.includes(field) && (
        <button
          className={classNames("plain small", styles.groupBy)}
          aria-label={`Group by ${path}`}
          onClick={() => {
            onGroup(field);
          }}
        >
          group
        </button>
      )}
    </>
  );
}

function choiceText({ choices }: ComparedField, place: number): string {
  const choice = choices[place] ?? null;
  return choice === null ? "–" : valueText(choice);
}

/** Return "0.1 (12), 0.2 (30), – (8)". */
function countsText(field: ComparedField): string {
  const counts = new Map<number, number>();
  for (const place of field.places) counts.set(place, (counts.get(place) ?? 0) + 1);
  const places = [...field.choices.keys()];
  const texts = places
    .slice(0, MOST_VALUES)
    .map((place) => `${choiceText(field, place)} (${counts.get(place) ?? 0})`);
  const more = places.length - texts.length;
  return texts.join(", ") + (more > 0 ? `, and ${more} other values` : "");
}

function shortHash(choice: ComparedField["choices"][number]) {
  return typeof choice === "string" ? choice.slice(0, HASH) : choice;
}
