/** Where attempts took the run up again, and what had been done in vain. */
import type { RunDetail } from "@/shared/api/types";
import { count, plural } from "@/shared/format/number";

export function Restarts({ run }: { run: RunDetail }) {
  if (!run.restarts.length) return null;
  return (
    <ul className="muted" aria-label="Restarts">
      {run.restarts.map((restart) => (
        <li key={restart.attempt}>
          attempt {restart.attempt} went on from step {count(restart.step)}
          {restart.lost_steps ? `; ${plural(restart.lost_steps, "step")} taken again` : ""}
        </li>
      ))}
    </ul>
  );
}
