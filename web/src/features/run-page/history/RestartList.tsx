/** The restarts of a run: the step at which each attempt resumed, and the steps that it repeated. */
import type { RunDetail } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { FoldedList } from "./FoldedList";

export function RestartList({ run }: { run: RunDetail }) {
  if (!run.restarts.length) return null;
  return (
    <FoldedList
      label="Restarts"
      noun="restart"
      className="muted"
      items={run.restarts.map((restart) => (
        <li key={restart.attempt}>
          attempt {restart.attempt} resumed from step {formatCount(restart.step)}
          {restart.lost_steps ? `; ${pluralize(restart.lost_steps, "step")} repeated` : ""}
        </li>
      ))}
    />
  );
}
