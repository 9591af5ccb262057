/** The charts of all series of a run, with a common crosshair: in sections by prefix, with a search. */
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { errorText } from "@/shared/api/client";
import type { RunDetail } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import { TextField } from "@/shared/controls/TextField";
import type { StepRange } from "@/shared/curves/view";
import { pluralize } from "@/shared/format/number";
import { Loading, QueryStatus } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { seriesKind } from "@/shared/series/catalog";
import { baseOf } from "@/shared/series/names";
import { hasEnded } from "@/shared/state/state";
import type { AllSeries, Points, Series } from "../series";
import type { Place } from "../usePlace";
import styles from "./RunCurves.module.css";
import { type Group, search, type Section, sectionsOf } from "./sections";
import { SeriesChart } from "./SeriesChart";

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

const AT_ONCE = 16; // charts that are drawn wherever they are

/** What all charts of a run share. */
interface ChartContext {
  run: RunDetail;
  series: Series;
  range: StepRange;
  place: Place;
  smoothed: boolean;
  error: Error | null; // of series that were asked for
  onSeen: (names: readonly string[]) => void; // a chart needs these series
}

interface RunChartProps {
  group: Group;
  context: ChartContext;
  index: number; // of all charts of the page
}

/** A chart of a run's page with its own choice of the axis; one far down is drawn once it comes near the window. */
function RunChart({ group, context, index }: RunChartProps) {
  const [host, isSeen] = useSeen(index < AT_ONCE);
  const { onSeen } = context;
  const { names } = group;
  useEffect(() => {
    if (isSeen) onSeen(names);
  }, [isSeen, onSeen, names]);
  return (
    <div
      ref={host}
      className={isSeen ? styles.chartPlace : styles.unseenChart}
      data-series={JSON.stringify(names)}
    >
      {isSeen && <SeenChart {...{ group, context }} />}
    </div>
  );
}

function SeenChart({ group: { title, names }, context }: Omit<RunChartProps, "index">) {
  const { run, series, range, place, smoothed, error } = context;
  const logs = useAddress().getAll("log");
  const name = baseOf(names[0] ?? "");
  const logarithmic = logs.includes(name);
  const isReported = names.some((one) => run.series.includes(one));
  if (isReported && !names.some((one) => series.has(one))) return <QueryStatus error={error} />;
  return (
    <SeriesChart
      {...{ title, names, series, smoothed, range, logarithmic }}
      restarts={place.of(run.restarts.map((restart) => restart.step))}
      run={run.id}
      sync={`run-${run.id}`}
      xMin={place.first}
      xMax={place.last}
      unit={place.unit}
      empty={`No ${title === seriesKind(name).name ? title : title.toLowerCase()} reported${hasEnded(run.state) ? "" : " yet"}.`}
    >
      {seriesKind(name).logarithmic && (
        <Switch
          on={logarithmic}
          onChange={(isOn) => {
            changeAddress({ log: isOn ? [...logs, name] : logs.filter((one) => one !== name) });
          }}
        >
          log scale
        </Switch>
      )}
    </SeriesChart>
  );
}

const NEAR = "800px"; // so that it is drawn before the reader comes there

/**
 * Whether an element has been in view, or near it: what is far down need not be drawn before.
 *
 * Return the reference for the element, and whether it was seen; `atOnce` counts as seen.
 */
function useSeen(atOnce: boolean): [RefObject<HTMLDivElement | null>, boolean] {
  const host = useRef<HTMLDivElement>(null);
  const [wasSeen, setSeen] = useState(false);
  const isSeen = atOnce || wasSeen;
  useEffect(() => {
    if (isSeen || !host.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: NEAR },
    );
    observer.observe(host.current);
    return () => {
      observer.disconnect();
    };
  }, [isSeen]);
  return [host, isSeen];
}
