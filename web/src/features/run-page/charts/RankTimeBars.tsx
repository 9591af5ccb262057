/** A bar for each rank: the parts of its step time over the newest steps. The rank with the longest bar is the slowest. */
import { useState } from "react";
import type { RankTime, RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { formatStepTime } from "@/shared/format/time";
import { errorText } from "@/shared/messages/errorText";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { useWidth } from "@/shared/plot/useWidth";
import { PARTS } from "@/shared/series/timeParts";
import { useTheme } from "@/shared/theme/theme";
import { useRankTimes } from "../api/useRankTimes";
import styles from "./RankTimeBars.module.css";

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

const BAR_PX = 4; // of the narrowest bar that can be seen and pointed at
const WIDE_PX = 8; // bars from this width on have gaps

function Bars({ ranks, slowest, selected, onPoint }: BarsProps) {
  const theme = useTheme();
  const [host, width] = useWidth();
  const per = Math.ceil(ranks.length / Math.max(1, Math.floor(width / BAR_PX)));
  const shown = slowestOfEach(ranks, per);
  const longest = Math.max(...shown.map(totalTime));
  return (
    <div ref={host}>
      <div
        className={classNames(styles.rankBars, width / shown.length < WIDE_PX && styles.narrowBars)}
        role="img"
        aria-label={`Time of a step on each of ${ranks.length} ranks; the slowest is rank ${slowest}`}
        onPointerLeave={() => {
          onPoint(null);
        }}
      >
        {shown.map(({ rank, seconds }) => (
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
      {per > 1 && <p className="small muted">Each bar is the slowest of {per} ranks.</p>}
    </div>
  );
}

/** Return the slowest rank of each `per` successive ones: a page is wide enough for a few hundred bars. */
export function slowestOfEach(ranks: RankTime[], per: number): RankTime[] {
  if (per < 2) return ranks;
  return Array.from({ length: Math.ceil(ranks.length / per) }, (_, index) =>
    ranks
      .slice(index * per, (index + 1) * per)
      .reduce((one, other) => (busyTime(other) > busyTime(one) ? other : one)),
  );
}

function totalTime({ seconds }: RankTime): number {
  return PARTS.reduce((sum, part) => sum + timeOf(seconds, part.name), 0);
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
