/** The jobs that carried the run before the present one: how far each came, and what ended it. */
import type { RunDetail } from "@/shared/api/types";
import { count } from "@/shared/format/number";
import { FirstFailure } from "@/features/run-page/summary/FirstFailure";

export function Attempts({ run }: { run: RunDetail }) {
  const told = run.attempts.filter((attempt) => attempt.cause !== "done");
  if (told.length === 0) return null;
  return (
    <>
      <ol aria-label="Attempts that ended before their time">
        {told.map((attempt) => (
          <li key={attempt.number}>
            <b>Attempt {attempt.number}</b> <span className="muted">job {attempt.job_id ?? "none"}</span>{" "}
            {attempt.cause.replaceAll("_", " ")} at step {count(attempt.step)}
            {attempt.reason && <span className="muted">: {attempt.reason}</span>}
            {run.failure?.attempt === attempt.number && run.state !== "failed" && (
              <FirstFailure failure={run.failure} reason={attempt.reason} />
            )}
          </li>
        ))}
      </ol>
      {run.excluded.length > 0 && (
        <p className="muted">
          Left out of further attempts, because they failed under this run: {run.excluded.join(", ")}
        </p>
      )}
    </>
  );
}
