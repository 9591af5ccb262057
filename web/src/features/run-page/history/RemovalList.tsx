/** What the service has removed of an ended run: points, and entries of its history. */
import type { RunDetail } from "@/shared/api/types";
import { formatRoughly, secondsBetween } from "@/shared/format/time";

export function RemovalList({ run }: { run: RunDetail }) {
  const { points_removed_at: points, history_removed_at: history } = run;
  if (!points && !history) return null;
  return (
    <ul className="muted" aria-label="Removed data">
      {points && <li>The points were removed {ageText(run, points)}; the newest values remain.</li>}
      {history && <li>The times of waiting were removed {ageText(run, history)}.</li>}
    </ul>
  );
}

/** Return "30 d after the run's end". */
function ageText(run: RunDetail, at: string): string {
  return `${formatRoughly(secondsBetween(run.ended_at ?? at, at))} after the run's end`;
}
