/** Ranks that the run went on without: fewer replicas have trained than its spec says. */
import type { RunDetail } from "@/shared/api/types";
import { count } from "@/shared/format/number";

export function LostRanks({ run }: { run: RunDetail }) {
  if (!run.lost_ranks.length) return null;
  return (
    <ul className="muted" aria-label="Lost ranks">
      {run.lost_ranks.map((lost) => (
        <li key={`${lost.attempt}-${lost.rank}`}>
          rank {lost.rank} is lost since step {count(lost.step)} of rank 0, in attempt {lost.attempt}:{" "}
          {lost.reason}; the others went on
        </li>
      ))}
    </ul>
  );
}
