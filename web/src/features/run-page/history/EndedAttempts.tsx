/** The attempts of a run that ended early: the step of each, the cause and the first failure. */
import type { RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { FirstFailure } from "../summary/FirstFailure";
import styles from "./EndedAttempts.module.css";
import { FoldedList } from "./FoldedList";

export function EndedAttempts({ run }: { run: RunDetail }) {
  const attempts = run.attempts.filter((attempt) => attempt.cause !== "done");
  if (attempts.length === 0) return null;
  return (
    <>
      <FoldedList
        label="Attempts that ended early"
        noun="ended attempt"
        items={attempts.map((attempt) => (
          <Attempt key={attempt.number} {...{ run, attempt }} />
        ))}
      />
      {run.excluded.length > 0 && (
        <p className="muted">
          Further attempts exclude the hosts that failed under this run: {run.excluded.join(", ")}
        </p>
      )}
    </>
  );
}

function Attempt({ run, attempt }: { run: RunDetail; attempt: RunDetail["attempts"][number] }) {
  return (
    <li>
      <b>Attempt {attempt.number}</b> <span className="muted">job {attempt.job_id ?? "none"}</span>{" "}
      {attempt.cause.replaceAll("_", " ")} at step {formatCount(attempt.step)}
      {attempt.reason && <span className="muted">: {attempt.reason}</span>}
      {run.failure?.attempt === attempt.number && run.state !== "failed" && (
        <div className={styles.attemptFailure}>
          <FirstFailure failure={run.failure} reason={attempt.reason} />
        </div>
      )}
    </li>
  );
}
