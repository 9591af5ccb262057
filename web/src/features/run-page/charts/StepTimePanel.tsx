/** The time of a step: the share of each part in one bar, and the parts over all steps as a stack. */
import { type RefObject, useMemo, useRef, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import type { StepRange } from "@/shared/curves/view";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { formatCount, formatPercent } from "@/shared/format/number";
import { formatStepTime } from "@/shared/format/time";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { csvOfChart } from "@/shared/plot/chartCsv";
import { type Picture, Plot } from "@/shared/plot/Plot";
import type { Line } from "@/shared/plot/view";
import type { Part } from "@/shared/series/timeParts";
import { type Theme, useTheme } from "@/shared/theme/theme";
import type { Place } from "../api/usePlace";
import type { Series } from "../api/usePoints";
import { ChartPanel } from "./ChartPanel";
import { RankMesh } from "./RankMesh";
import { RankTimeBars } from "./RankTimeBars";
import styles from "./StepTimePanel.module.css";
import { slowestRank, splitTime, type TimeSplit } from "./timeSplit";

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
  const slowest = useMemo(() => slowestRank(series), [series]);
  if (!split || !stack) return null;
  const { parts } = split;
  const at = index ?? split.means.x.length - 1;
  const values = parts.map((_, part) => formatStepTime(split.means.ys[part]?.[at]));
  return (
    <ChartPanel title="Time of a step" className={styles.stepTimePanel}>
      <PanelHeader actions={<Download {...{ run, split, place, picture }} />}>
        <h2>Time of a step</h2>
        {slowest && (
          <span className="muted small">
            other ranks wait for rank {slowest.rank} in {formatPercent(slowest.share, 0)} of the steps
          </span>
        )}
        {index !== null && (
          <span className="muted small">around step {formatCount(split.means.x[at] ?? 0)}</span>
        )}
      </PanelHeader>
      <Shares split={split} values={values} />
      <Plot
        title="Time of a step"
        height={150}
        lines={parts.map((part) => lineOf(part, theme))}
        aligned={stack}
        unit={place.unit}
        readout={parts.map((part, index) => `${part.title} ${values[index] ?? ""}`).join(", ")}
        tick={formatStepTime}
        sync={`run-${run.id}`}
        xMax={place.last}
        range={range}
        onIndex={setIndex}
        picture={picture}
      />
      <RankTimeBars run={run} />
      <RankMesh run={run} />
    </ChartPanel>
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

/** The share of each part in the total time: as a bar, and as a list with the part's time at the crosshair. */
function Shares({ split: { parts, shares }, values }: { split: TimeSplit; values: string[] }) {
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
