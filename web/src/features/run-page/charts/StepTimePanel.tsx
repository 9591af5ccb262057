/** The time of a step: the share of each part in one bar, and the parts over all steps as a stack. */
import { useMemo, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import { formatCount, formatPercent } from "@/shared/format/number";
import { formatStepTime } from "@/shared/format/time";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { Plot } from "@/shared/plot/Plot";
import { useTheme } from "@/shared/theme/theme";
import type { Series } from "../api/usePoints";
import { ChartPanel } from "./ChartPanel";
import { RankTimeBars } from "./RankTimeBars";
import styles from "./StepTimePanel.module.css";
import { slowestRank, splitTime, type TimeSplit } from "./timeSplit";

interface Props {
  run: RunDetail;
  series: Series;
}

export function StepTimePanel({ run, series }: Props) {
  const theme = useTheme();
  const [index, setIndex] = useState<number | null>(null);
  const split = useMemo(() => splitTime(series), [series]);
  const slowest = useMemo(() => slowestRank(series), [series]);
  if (!split) return null;
  const { parts } = split;
  const at = index ?? split.means.x.length - 1;
  const values = parts.map((_, part) => formatStepTime(split.means.ys[part]?.[at]));
  return (
    <ChartPanel title="Time of a step" className={styles.stepTimePanel}>
      <PanelHeader>
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
        lines={parts.map(({ name, title, color }) => ({
          key: name,
          label: title,
          color: color[theme],
          fill: true,
        }))}
        aligned={split.stack}
        readout={parts.map((part, index) => `${part.title} ${values[index] ?? ""}`).join(", ")}
        tick={formatStepTime}
        sync={`run-${run.id}`}
        xMax={run.step}
        onIndex={setIndex}
      />
      <RankTimeBars run={run} />
    </ChartPanel>
  );
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
