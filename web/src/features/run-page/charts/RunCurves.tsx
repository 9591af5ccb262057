/** The charts of all series of a run, with a common crosshair: in sections by prefix, with a search. */
import { useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import { TextField } from "@/shared/controls/TextField";
import type { StepRange } from "@/shared/curves/view";
import { pluralize } from "@/shared/format/number";
import { errorText } from "@/shared/api/client";
import { Loading } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { hasEnded } from "@/shared/state/state";
import type { Place } from "../api/usePlace";
import type { Points } from "../api/usePoints";
import type { AllSeries } from "../api/useAllSeries";
import { RunChart, type ChartContext } from "./RunChart";
import styles from "./RunCurves.module.css";
import { search, type Section, sectionsOf } from "./sections";

const FEW = 12; // charts that need no search

interface Props {
  run: RunDetail;
  points: Points;
  all: AllSeries;
  range: StepRange; // zoomed
  place: Place;
}

export function RunCurves({ run, points, all, range, place }: Props) {
  const { names } = all;
  const series = useMemo(() => place.series(all.series), [all.series, place]);
  const address = useAddress();
  const find = address.get("find") ?? "";
  const { kind } = run.spec;
  const sections = useMemo(() => sectionsOf(kind, names, points.series), [kind, names, points.series]);
  if (!names.length) {
    return run.points_removed_at ? null : <NoCurves {...points} ended={hasEnded(run.state)} />; // the history names the removal
  }
  const smoothed = address.get("smooth") !== "off";
  const shown = search(sections, find);
  const context = { run, series, range, place, smoothed, error: all.error, onSeen: all.ask };
  return (
    <section className={styles.curves} aria-label="Curves">
      <Controls {...{ find, smoothed }} count={countOf(sections)} />
      {shown.map((section, at) => (
        <SectionOfCharts
          key={section.title}
          {...{ section, context }}
          isOnly={sections.length === 1}
          before={countOf(shown.slice(0, at))}
        />
      ))}
      {!shown.length && <p className="muted">No series has such a name.</p>}
    </section>
  );
}

/** What governs all charts: which are shown, and whether their noise is smoothed. */
function Controls({ find, smoothed, count }: { find: string; smoothed: boolean; count: number }) {
  return (
    <div className={styles.curveControls}>
      {(count > FEW || find !== "") && (
        <TextField
          label={`Find one of ${count} charts`}
          value={find}
          onChange={(text) => {
            changeAddress({ find: text });
          }}
        />
      )}
      <Switch
        on={smoothed}
        onChange={(isOn) => {
          changeAddress({ smooth: isOn ? "" : "off" });
        }}
      >
        smooth
      </Switch>
    </div>
  );
}

interface SectionProps {
  section: Section;
  context: ChartContext;
  isOnly: boolean;
  before: number; // charts of the sections before
}

/** A section, which a click folds: the address names the folded ones. */
function SectionOfCharts({ section: { title, groups }, context, isOnly, before }: SectionProps) {
  const folded = useAddress().getAll("folded");
  const isOpen = !folded.includes(title);
  const charts = (
    <div className={styles.charts}>
      {groups.map((group, at) => (
        <RunChart key={group.names[0]} {...{ group, context }} index={before + at} />
      ))}
    </div>
  );
  if (isOnly || !title) return charts;
  return (
    <section aria-label={title}>
      <h2 className={styles.sectionHead}>
        <button
          className="plain"
          aria-expanded={isOpen}
          onClick={() => {
            changeAddress({ folded: isOpen ? [...folded, title] : folded.filter((one) => one !== title) });
          }}
        >
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {title}{" "}
          <span className="muted small">{pluralize(groups.length, "chart")}</span>
        </button>
      </h2>
      {isOpen && charts}
    </section>
  );
}

function countOf(sections: readonly Section[]): number {
  return sections.reduce((sum, { groups }) => sum + groups.length, 0);
}

function NoCurves({ isPending, error, ended }: Points & { ended: boolean }) {
  if (isPending) return <Loading />;
  const text = ended
    ? "The run reported no values."
    : "The run has not reported any values yet. The curves start with its first step.";
  return (
    <p className={classNames("muted", styles.noCurves)}>
      {error ? `The curves cannot be shown: ${errorText(error)}.` : text}
    </p>
  );
}
