/** Where the time of a step goes: the shares in one bar, and the course over all steps as a stack. */
import { useMemo, useState } from "react";
import type { RunDetail } from "@/shared/api/types";
import { count, percent } from "@/shared/format/number";
import { stepTime } from "@/shared/format/time";
import { Plot } from "@/shared/plot/Plot";
import { useTheme } from "@/shared/theme/theme";
import type { Series } from "@/features/run-page/api/usePoints";
import { RankBars } from "./RankTimeBars";
import { slowestOf, splitOf } from "./timeSplit";

interface Props {
  run: RunDetail;
  series: Series;
}

export function TimePanel({ run, series }: Props) {
  const theme = useTheme();
  const [index, setIndex] = useState<number | null>(null);
  const split = useMemo(() => splitOf(series), [series]);
  const slowest = useMemo(() => slowestOf(series), [series]);
  if (!split) return null;
  const { parts } = split;
  const at = index ?? split.means.x.length - 1;
  const values = parts.map((_, place) => stepTime(split.means.ys[place]?.[at]));
  return (
    <section className="panel chart time" aria-label="Time of a step">
      <header className="chart-head">
        <h2>Time of a step</h2>
        {slowest && (
          <span className="muted small">
            the others wait for rank {slowest.rank} in {percent(slowest.share, 0)} of the steps
          </span>
        )}
        {index !== null && <span className="muted small">around step {count(split.means.x[at] ?? 0)}</span>}
      </header>
      <div className="time-bar" aria-hidden="true">
        {split.shares.map((share, place) => (
          <i key={place} style={{ flexGrow: share, background: parts[place]?.color[theme] }} />
        ))}
      </div>
      <ul className="time-shares">
        {parts.map((part, place) => (
          <li key={part.name}>
            <i style={{ background: part.color[theme] }} />
            {part.title} <b>{percent(split.shares[place], 1)}</b>{" "}
            <span className="muted">{values[place]}</span>
          </li>
        ))}
      </ul>
      <Plot
        title="Time of a step"
        height={150}
        lines={parts.map((part) => ({
          key: part.name,
          label: part.title,
          color: part.color[theme],
          fill: true,
        }))}
        sheet={split.stack}
        reading={parts.map((part, place) => `${part.title} ${values[place] ?? ""}`).join(", ")}
        tick={stepTime}
        sync={`run-${run.id}`}
        span={run.step}
        onIndex={setIndex}
      />
      <RankBars run={run} />
    </section>
  );
}
