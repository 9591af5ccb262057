/** The first failure of an attempt: its rank, its kind, its evidence, and the ranks that exited after it. */
import type { RunDetail } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { secondsBetween } from "@/shared/format/time";
import styles from "./FirstFailure.module.css";

type Failure = NonNullable<RunDetail["failure"]>;

export function FirstFailure({ failure, reason }: { failure: Failure; reason: string | null }) {
  return (
    <div className={styles.firstFailure}>
      <p>
        <b>{subject(failure)}</b>
        {failure.has_begun && failureText(failure)}
      </p>
      {failure.evidence && failure.evidence !== reason && (
        <figure className={styles.evidence}>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must reach an element that scrolls */}
          <pre tabIndex={0}>{failure.evidence}</pre>
          <figcaption className="small muted">{sourceText(failure)}</figcaption>
        </figure>
      )}
      {failure.at && <LaterExits failure={failure} first={failure.at} />}
    </div>
  );
}

function LaterExits({ failure, first }: { failure: Failure; first: string }) {
  const others = failure.falls.filter(({ rank }) => rank !== failure.rank);
  if (!others.length) return null;
  return (
    <details className="small">
      <summary>{pluralize(others.length, "other rank")} exited afterwards</summary>
      <ol>
        {others.map(({ rank, at, reason }) => (
          <li key={rank}>
            <span className="muted">{delayText(first, at)}</span> {reason}
          </li>
        ))}
      </ol>
    </details>
  );
}

const KINDS: Record<Failure["kind"], string> = {
  out_of_memory: "out of memory",
  collective_timeout: "the other ranks timed out waiting for it",
  python_error: "an error in Python",
  signal: "its process was killed or crashed",
  wrong_environment: "the environment of the job is incomplete",
  node_failure: "its host failed",
  time_limit: "the job reached its time limit",
  unknown: "it exited without a reason",
};

function subject({ rank, has_begun }: Failure): string {
  if (!has_begun) return "No rank had begun";
  return rank === null ? "No rank reported a reason" : `Rank ${rank}`;
}

/** Return " failed first on cpu-2: an error in Python". */
function failureText({ rank, host, kind, round }: Failure): string {
  const parts = [rank !== null && " failed first", host && ` on ${host}`];
  if (rank !== null || kind !== "unknown") parts.push(`: ${KINDS[kind]}`);
  if (round !== null && kind !== "python_error") parts.push(`, missed in round ${round} of the collective`);
  return parts.filter(Boolean).join("");
}

/** Return the delay after the first failure: "+0.012 s". */
function delayText(first: string, then: string): string {
  return `+${Math.max(0, secondsBetween(first, then)).toFixed(3)} s`;
}

/** Return "traceback of rank 2"; of a rank that another one reported, that other rank. */
function sourceText({ source, rank }: Failure): string {
  if (!/^rank \d+$/.test(source)) return `source: ${source}`;
  return source === `rank ${rank}` ? `traceback of ${source}` : `report of ${source}`;
}
