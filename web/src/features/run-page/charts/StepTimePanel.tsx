/** The time of a step: the share of each part in one bar, and the parts over all steps as a stack. */
import { type RefObject, useMemo, useRef, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import type { StepRange } from "@/shared/curves/view";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { formatCount, formatPercent } from "@/shared/format/number";
import { atPosition } from "@/shared/format/position";
import { formatStepTime } from "@/shared/format/time";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { csvOfChart, type Line } from "@/shared/plot/view";
import { type Picture, Plot } from "@/shared/plot/Plot";
import type { Part } from "@/shared/series/catalog";
import { type Theme, useTheme } from "@/shared/theme/theme";
import type { Place } from "../usePlace";
import type { Series } from "../series";
import { ChartPanel } from "./ChartPanel";
import { RankMesh } from "./RankMesh";
import { RankTimeBars } from "./RankTimeBars";
import styles from "./StepTimePanel.module.css";
import { nearRange, sharesOf, slowestRank, splitTime, type TimeSplit } from "./timeSplit";

interface Props {
  run: RunDetail;
  series: Series;
  range: StepRange; // zoomed
  place: Place;
}

export function StepTimePanel({ run, series, range, place }: Props) {
  const theme = useTheme();
  const [index, setIndex] = useState<number | null>(null);
  const picture = useRef<Picture>(null);
  const split = useMemo(() => splitTime(series), [series]);
  const stack = useMemo(() => split && { ...split.stack, x: place.of(split.stack.x) }, [split, place]);
  const near = useMemo(() => split && nearRange(split), [split]);
  if (!split || !stack) return null;
  const { parts, means, whole } = split;
  const seconds = index === null ? whole : means.ys.map((column) => column[index] ?? 0);
  const values = seconds.map((each) => formatStepTime(each));
  return (
    <ChartPanel title="Time of a step" className={styles.stepTimePanel}>
      <PanelHeader actions={<Download {...{ run, split, place, picture }} />}>
        <h2>Time of a step</h2>
        <SlowestRank series={series} />
        <span className="muted small">{meansText(split, index)}</span>
      </PanelHeader>
      <Shares parts={parts} shares={sharesOf(seconds)} values={values} />
      {/* the bar above has all that one mean has */}
      {stack.x.length > 1 && (
        <Plot
          title="Time of a step"
          height={150}
          lines={parts.map((part) => lineOf(part, theme))}
          aligned={stack}
          unit={place.unit}
          readout={parts.map((part, index) => `${part.title} ${values[index] ?? ""}`).join(", ")}
          tick={formatStepTime}
          sync={`run-${run.id}`}
          xMin={place.first}
          xMax={place.last}
          yRange={near}
          range={range}
          onIndex={setIndex}
          picture={picture}
        />
      )}
      {near && <FarNote {...{ near, place }} />}
      <RankTimeBars run={run} />
      <RankMesh run={run} />
    </ChartPanel>
  );
}

function SlowestRank({ series }: { series: Series }) {
  const slowest = useMemo(() => slowestRank(series), [series]);
  if (!slowest) return null;
  return (
    <span className="muted small">
      other ranks wait for rank {slowest.rank} in {formatPercent(slowest.share, 0)} of the steps
    </span>
  );
}

interface DownloadProps {
  run: RunDetail;
  split: TimeSplit;
  place: Place;
  picture: RefObject<Picture | null>;
}

/** The picture of the stack; its data are the seconds of each part. */
function Download({ run, split: { parts, means }, place, picture }: DownloadProps) {
  const theme = useTheme();
  const lines = parts.map((part) => lineOf(part, theme));
  return (
    <DownloadMenu
      picture={() => picture.current?.() ?? null}
      title={`Time of a step, run ${run.id}`}
      runs={[run.id]}
      legend={lines.map(({ label, color }) => ({ label, color, dash: [] }))}
      csv={() =>
        csvOfChart({ lines, aligned: { ...means, x: place.of(means.x) } }, ["part", place.unit, "seconds"])
      }
      isSmall
    />
  );
}

function lineOf({ name, title, color }: Part, theme: Theme): Line {
  return { key: name, label: title, color: color[theme], fill: true };
}

/** Return over which steps the times and the shares are means. */
function meansText({ means, steps }: TimeSplit, index: number | null): string {
  if (index !== null) return `mean of the steps around step ${formatCount(means.x[index] ?? 0)}`;
  return steps === 1 ? "of one step" : `mean of all ${formatCount(steps)} steps`;
}

/** What leaves the picture at its top. */
function FarNote({ near, place }: { near: NonNullable<ReturnType<typeof nearRange>>; place: Place }) {
  const [at = 0] = place.of([near.at]);
  return (
    <p className="small muted">
      {near.cut === 1 ? "A time leaves" : `${formatCount(near.cut)} times leave`} the picture at its top: up
      to {formatStepTime(near.most)} {atPosition(at, place.unit)}.
    </p>
  );
}

interface SharesProps {
  parts: Part[];
  shares: number[];
  values: string[];
}

/** The share of each part in the time of a step: as a bar, and as a list with the part's time. */
function Shares({ parts, shares, values }: SharesProps) {
  const theme = useTheme();
  return (
    <>
      <div className={styles.shareBar} aria-hidden="true">
        {parts.map((part, index) => (
          <i key={part.name} style={{ flexGrow: shares[index], background: part.color[theme] }} />
        ))}
      </div>
      <ul className={styles.shares}>
        {parts.map((part, index) => (
          <li key={part.name}>
            <i style={{ background: part.color[theme] }} />
            {part.title} <b>{formatPercent(shares[index], 1)}</b>{" "}
            <span className="muted">{values[index]}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
