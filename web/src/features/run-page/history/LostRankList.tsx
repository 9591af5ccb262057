/** The ranks that a run lost while the other replicas continued to train. */
import type { RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { FoldedList } from "./FoldedList";

export function LostRankList({ run }: { run: RunDetail }) {
  if (!run.lost_ranks.length) return null;
  return (
    <FoldedList
      label="Lost ranks"
      noun="lost rank"
      className="muted"
      items={run.lost_ranks.map((lost) => (
        <li key={`${lost.attempt}-${lost.rank}`}>
          rank {lost.rank} was lost at step {formatCount(lost.step)} of rank 0, in attempt {lost.attempt}:{" "}
          {lost.reason}; the other ranks continued
        </li>
      ))}
    />
  );
}
