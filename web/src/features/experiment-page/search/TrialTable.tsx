/** The table of a search's trials, the best first: status, value, its values at comparisons, and its parameters. */
import { useState } from "react";
import { Link } from "wouter";
import type { SearchDetail, TrialView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { axisNames, shortened, valueText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { metricFormat, ranked } from "./trials";
import styles from "./TrialTable.module.css";

const FIRST = 30; // rows before the reader asks for all

export function TrialTable({ search }: { search: SearchDetail }) {
  const [isWhole, setWhole] = useState(false);
  const order = ranked(search);
  const shown = isWhole ? order : order.slice(0, FIRST);
  const paths = Object.keys(search.spec.space);
  const hasRungs = search.resources.some((rungs) => rungs.length > 0);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls
    <section className={classNames("scroll panel", styles.trialTable)} aria-label="Trials" tabIndex={0}>
      <PanelHeader>
        <h2>Trials</h2>
        <span className="small muted">{countsText(search)}</span>
      </PanelHeader>
      <table>
        <TrialHeader {...{ search, paths, hasRungs }} />
        <tbody>
          {shown.map((trial) => (
            <TrialRow key={trial.number} {...{ search, trial, paths, hasRungs }} />
          ))}
        </tbody>
      </table>
      {order.length > shown.length && (
        <p className={styles.allTrials}>
          <button
            className="button small"
            onClick={() => {
              setWhole(true);
            }}
          >
            All {pluralize(order.length, "trial")}
          </button>
        </p>
      )}
    </section>
  );
}

interface HeaderProps {
  search: SearchDetail;
  paths: string[];
  hasRungs: boolean;
}

function TrialHeader({ search, paths, hasRungs }: HeaderProps) {
  const names = axisNames(paths);
  const { title } = metricFormat(search.spec.metric);
  return (
    <thead>
      <tr>
        <th scope="col">Trial</th>
        <th scope="col">Status</th>
        <th scope="col" className="number">
          {title}
        </th>
        {hasRungs && <th scope="col">{rungsTitle(search)}</th>}
        {isPopulation(search) && <th scope="col">Member</th>}
        {paths.map((path) => (
          <th key={path} scope="col">
            {names.get(path) ?? path}
          </th>
        ))}
        <th scope="col">Runs</th>
      </tr>
    </thead>
  );
}

interface RowProps {
  search: SearchDetail;
  trial: TrialView;
  paths: string[];
  hasRungs: boolean;
}

function TrialRow({ search, trial, paths, hasRungs }: RowProps) {
  const { format } = metricFormat(search.spec.metric);
  return (
    <tr>
      <td>{trial.number}</td>
      <td title={trial.message ?? MEANINGS[trial.status]} className={styles.trialStatus}>
        {trial.status}
        {trial.message && <span className="small muted"> {trial.message}</span>}
      </td>
      <td className="number">{format(trial.value)}</td>
      {hasRungs && <td className="small">{trial.rungs.map((value) => format(value)).join(" → ") || "–"}</td>}
      {isPopulation(search) && <td className="small">{memberText(search, trial)}</td>}
      {paths.map((path) => (
        <td key={path}>{path in trial.params ? valueText(shortened(trial.params[path])) : "–"}</td>
      ))}
      <td>
        {trial.run_ids.map((id, index) => (
          <span key={id}>
            {index > 0 && ", "}
            <Link href={`/runs/${id}`}>{id}</Link>
          </span>
        ))}
      </td>
    </tr>
  );
}

function isPopulation({ spec }: SearchDetail): boolean {
  return spec.sampler.kind === "population";
}

/** Return whose generation a trial is, and whose weights it began with: "3, generation 2, copies member 0". */
function memberText({ trials }: SearchDetail, { lineage }: TrialView): string {
  if (!lineage) return "–";
  const donor = lineage.copied ? trials.find(({ number }) => number === lineage.parent)?.lineage : null;
  const own = `${lineage.member}, generation ${lineage.generation}`;
  return donor ? `${own}, copies member ${donor.member}` : own;
}

const MEANINGS: Record<TrialView["status"], string> = {
  running: "its runs wait or train",
  waiting: "stopped at a comparison; continues from its checkpoint if it is among the best later",
  suspended: "stopped because the search is paused",
  done: "its runs are done",
  stopped: "ended early",
  failed: "has no value, and counts as the worst",
};

/** Return the resources of the comparisons: "At 1, 3, 9 epochs". */
function rungsTitle({ resources, spec }: SearchDetail): string {
  const unit = spec.early_stopping.kind === "none" ? "" : spec.early_stopping.unit;
  return resources.length === 1 ? `At ${resources[0]?.join(", ")} ${unit}` : `At comparisons (${unit})`;
}

function countsText({ counts }: SearchDetail): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ");
}
