/** A column for every rank: what a step of its newest ones went into. Who is busy longest is waited for. */
import { useState } from "react";
import type { RankTime, RunDetail } from "@/shared/api/types";
import { count } from "@/shared/format/number";
import { stepTime } from "@/shared/format/time";
import { useTheme } from "@/shared/theme/theme";
import { useRanks } from "@/features/run-page/api/useRankTimes";
import { PARTS } from "./timeSplit";

export function RankBars({ run }: { run: RunDetail }) {
  const theme = useTheme();
  const times = useRanks(run);
  const [pointed, setPointed] = useState<number | null>(null);
  if (!times || times.ranks.length < 2) return null;
  const longest = Math.max(
    ...times.ranks.map(({ seconds }) => PARTS.reduce((sum, part) => sum + of(seconds, part.name), 0)),
  );
  const slowest = times.ranks.reduce((one, other) => (busy(other) > busy(one) ? other : one));
  const told = times.ranks.find(({ rank }) => rank === pointed) ?? slowest;
  return (
    <div className="ranks">
      <header className="chart-head">
        <h3>Rank by rank</h3>
        <span className="muted small">
          steps {count(times.first_step)} to {count(times.last_step)}
        </span>
        <span className="small" aria-live="off">
          {told === slowest ? "slowest: " : ""}
          <b>rank {told.rank}</b>{" "}
          <span className="muted">
            {PARTS.filter((part) => part.name in told.seconds)
              .map((part) => `${part.title.toLowerCase()} ${stepTime(of(told.seconds, part.name))}`)
              .join(", ")}
          </span>
        </span>
      </header>
      <div
        className="rank-bars"
        role="img"
        aria-label={`Time of a step on each of ${times.ranks.length} ranks; the slowest is rank ${slowest.rank}`}
        onPointerLeave={() => {
          setPointed(null);
        }}
      >
        {times.ranks.map(({ rank, seconds }) => (
          <div
            key={rank}
            className={rank === told.rank ? "told" : undefined}
            onPointerEnter={() => {
              setPointed(rank);
            }}
          >
            {PARTS.map((part) => (
              <i
                key={part.name}
                style={{
                  height: `${(100 * of(seconds, part.name)) / longest}%`,
                  background: part.color[theme],
                }}
              />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function of(seconds: RankTime["seconds"], part: string): number {
  return seconds[part] ?? 0;
}

/** What the others wait for. */
function busy({ seconds }: RankTime): number {
  return of(seconds, "compute_s") + of(seconds, "update_s") + of(seconds, "input_s");
}
