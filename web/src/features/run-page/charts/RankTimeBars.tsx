/** A bar for each rank: the parts of its step time over the newest steps. The rank with the longest bar is the slowest. */
import { useState } from "react";
import type { RankTime, RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { formatStepTime } from "@/shared/format/time";
import { errorText } from "@/shared/messages/errorText";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { useTheme } from "@/shared/theme/theme";
import { useRankTimes } from "../api/useRankTimes";
import styles from "./RankTimeBars.module.css";
import { PARTS } from "./timeSplit";

export function RankTimeBars({ run }: { run: RunDetail }) {
  const { times, error } = useRankTimes(run);
  const [pointed, setPointed] = useState<number | null>(null);
  if (!times && error && run.world > 1)
    return (
      <p className={classNames("muted small", styles.rankTimes)}>
        The times of the ranks cannot be shown: {errorText(error)}.
      </p>
    );
  if (!times || times.ranks.length < 2) return null;
  const slowest = times.ranks.reduce((one, other) => (busyTime(other) > busyTime(one) ? other : one));
  const selected = times.ranks.find(({ rank }) => rank === pointed) ?? slowest;
  return (
    <div className={styles.rankTimes}>
      <PanelHeader>
        <h3>Per rank</h3>
        <span className="muted small">
          steps {formatCount(times.first_step)} to {formatCount(times.last_step)}
        </span>
        <span className="small" aria-live="off">
          {selected === slowest ? "slowest: " : ""}
          <b>rank {selected.rank}</b> <span className="muted">{partsText(selected)}</span>
        </span>
      </PanelHeader>
      <Bars ranks={times.ranks} slowest={slowest.rank} selected={selected.rank} onPoint={setPointed} />
    </div>
  );
}

interface BarsProps {
  ranks: RankTime[];
  slowest: number;
  selected: number;
  onPoint: (rank: number | null) => void;
}

function Bars({ ranks, slowest, selected, onPoint }: BarsProps) {
  const theme = useTheme();
  const totals = ranks.map(({ seconds }) => PARTS.reduce((sum, part) => sum + timeOf(seconds, part.name), 0));
  const longest = Math.max(...totals);
  return (
    <div
      className={styles.rankBars}
      role="img"
      aria-label={`Time of a step on each of ${ranks.length} ranks; the slowest is rank ${slowest}`}
      onPointerLeave={() => {
        onPoint(null);
      }}
    >
      {ranks.map(({ rank, seconds }) => (
        <div
          key={rank}
          className={rank === selected ? styles.selectedRank : undefined}
          onPointerEnter={() => {
            onPoint(rank);
          }}
        >
          {PARTS.map((part) => {
            const height = `${(100 * timeOf(seconds, part.name)) / longest}%`;
            return <i key={part.name} style={{ height, background: part.color[theme] }} />;
          })}
        </div>
      ))}
    </div>
  );
}

/** Return "compute 21.2 ms, idle 5.8 ms" for the parts that the rank reports. */
function partsText({ seconds }: RankTime): string {
  return PARTS.filter((part) => part.name in seconds)
    .map((part) => `${part.title.toLowerCase()} ${formatStepTime(timeOf(seconds, part.name))}`)
    .join(", ");
}

function timeOf(seconds: RankTime["seconds"], part: string): number {
  return seconds[part] ?? 0;
}

/** Return the time during which other ranks wait for this rank. */
function busyTime({ seconds }: RankTime): number {
  return timeOf(seconds, "compute_s") + timeOf(seconds, "update_s") + timeOf(seconds, "input_s");
}
