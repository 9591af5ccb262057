/**
 * A bar for each rank: the parts of its step time over the newest steps. The rank with the longest bar is the slowest.
 * The pointer and the arrow keys read the bars.
 */
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import { body, client, errorText } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { RankTime, RankTimes, RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { formatStepTime } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { useWidth } from "@/shared/page/useWidth";
import { PARTS } from "@/shared/series/catalog";
import { hasEnded } from "@/shared/state/state";
import { useTheme } from "@/shared/theme/theme";
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
  const unpoint = () => {
    onPoint(null);
  };
  return (
    <div ref={host}>
      <div
        className={classNames(styles.rankBars, width / shown.length < WIDE_PX && styles.narrowBars)}
        role="slider"
        tabIndex={0}
        aria-label={`Time of a step on each of ${ranks.length} ranks; the slowest is rank ${slowest}`}
        aria-valuemin={0}
        aria-valuemax={shown.length - 1}
        aria-valuenow={Math.max(0, indexOf(shown, selected))}
        aria-valuetext={textOf(shown, selected)}
        onKeyDown={(event) => {
          readByKey(event, shown, selected, onPoint);
        }}
        onBlur={unpoint}
        onPointerLeave={unpoint}
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

/** Return the selected rank with its times, for a screen reader. */
function textOf(shown: RankTime[], selected: number): string | undefined {
  const found = shown[Math.max(0, indexOf(shown, selected))];
  return found && `rank ${found.rank}: ${partsText(found)}`;
}

/** Select the rank of another bar by a key; Escape returns to the slowest rank. */
function readByKey(event: KeyboardEvent, shown: RankTime[], selected: number, onPoint: BarsProps["onPoint"]) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const [at, last] = [indexOf(shown, selected), shown.length - 1];
  const places: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
  const next = places[event.key];
  if (next === undefined && event.key !== "Escape") return;
  event.preventDefault();
  onPoint(next === undefined ? null : (shown[Math.min(Math.max(next, 0), last)]?.rank ?? null));
}

function indexOf(shown: RankTime[], rank: number): number {
  return shown.findIndex((one) => one.rank === rank);
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

/** GET /runs/{id}/ranks: the time of each rank over the newest steps. */
function useRankTimes(run: RunDetail): { times: RankTimes | null; error: Error | null } {
  const pollInterval = usePollInterval();
  const query = useQuery({
    queryKey: keys.runRankTimes(run.id),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/runs/{run_id}/ranks", { params: { path: { run_id: run.id } }, signal })),
    refetchInterval: pollInterval(!hasEnded(run.state)),
  });
  return { times: query.data ?? null, error: query.error };
}
