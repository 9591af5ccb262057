/** Which rank failed first, how, the lines that say so, and who followed. */
import type { RunDetail } from "@/shared/api/types";
import { plural } from "@/shared/format/number";
import { secondsBetween } from "@/shared/format/time";
import "@/features/run/failure.css";

type Failure = NonNullable<RunDetail["failure"]>;

export function FirstFailure({ failure, reason }: { failure: Failure; reason: string | null }) {
  const others = failure.falls.filter((fall) => fall.rank !== failure.rank);
  return (
    <div className="first-failure">
      <p>
        <b>{failure.rank === null ? "No rank said why" : `Rank ${failure.rank}`}</b>
        {failure.rank !== null && " failed first"}
        {failure.host && ` on ${failure.host}`}
        {(failure.rank !== null || failure.kind !== "unknown") && `: ${KINDS[failure.kind]}`}
        {failure.round !== null &&
          failure.kind !== "python_error" &&
          `, missed in round ${failure.round} of the collective`}
      </p>
      {failure.evidence && failure.evidence !== reason && (
        <figure className="evidence">
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
          <pre tabIndex={0}>{failure.evidence}</pre>
          <figcaption className="small muted">as {failure.source} has it</figcaption>
        </figure>
      )}
      {failure.at && others.length > 0 && (
        <details className="small">
          <summary>{plural(others.length, "other rank")} left after it</summary>
          <ol>
            {others.map((fall) => (
              <li key={fall.rank}>
                <span className="muted">{after(failure.at, fall.at)}</span> {fall.reason}
              </li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

const KINDS: Record<Failure["kind"], string> = {
  out_of_memory: "out of memory",
  collective_timeout: "it kept the others waiting",
  python_error: "an error in Python",
  signal: "its process was killed or crashed",
  wrong_environment: "something that the job needs is not there",
  node_failure: "its host failed",
  time_limit: "the time limit",
  unknown: "it left and did not say why",
};

/** "+0.012 s" */
function after(first: string | null, then: string): string {
  return first ? `+${Math.max(0, secondsBetween(first, then)).toFixed(3)} s` : "";
}
