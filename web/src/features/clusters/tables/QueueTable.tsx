/** The queue of a cluster: the jobs of this service first, each with its place and the reason why it waits. */
import { Link } from "wouter";
import type { ClusterView } from "@/shared/api/types";
import { ordinal, pluralize } from "@/shared/format/number";
import { formatClock, formatMoment } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { useNow } from "@/shared/api/clock";
import { ClusterTable } from "./ClusterTable";
import styles from "./QueueTable.module.css";

type Job = NonNullable<ClusterView["report"]>["queue"][number];

const COLUMNS = [
  "Job",
  "Run",
  "Name",
  "User",
  "Partition",
  "State",
  "Place",
  "Nodes",
  "Elapsed",
  "Nodes / reason",
  "Predicted start",
];

export function QueueTable({ queue }: { queue: Job[] }) {
  const now = useNow(60_000);
  if (!queue.length) return <p className="muted">The queue is empty.</p>;
  const ofOthers = queue.filter((job) => !job.is_own);
  return (
    <ClusterTable title="Queue" columns={COLUMNS}>
      {[...queue.filter((job) => job.is_own), ...ofOthers].map((job) => (
        <tr key={job.job_id} className={classNames(!job.is_own && "muted")}>
          <td>{job.job_id}</td>
          <td>
            <JobRun job={job} />
          </td>
          <td>{job.name}</td>
          <td>{job.user}</td>
          <td>{job.partition}</td>
          <td>{job.state.toLowerCase()}</td>
          <td>{job.place ? placeText(job.place) : "–"}</td>
          <td>{job.nodes}</td>
          <td>{job.elapsed}</td>
          <td className={styles.reason}>{job.sentence ?? job.reason}</td>
          <td>
            <PredictedStart at={job.predicted_start ?? null} now={now} />
          </td>
        </tr>
      ))}
    </ClusterTable>
  );
}

/** Show a predicted start in the reader's own time zone. */
function PredictedStart({ at, now }: { at: string | null; now: number }) {
  return at === null ? (
    "–"
  ) : (
    <time dateTime={at} title={formatMoment(at)}>
      {formatClock(at, now)}
    </time>
  );
}

/** Return "4th of 31 pending jobs in gpu". */
function placeText({ place, pending, partition }: NonNullable<Job["place"]>): string {
  return `${ordinal(place)} of ${pluralize(pending, "pending job")} in ${partition}`;
}

/** Show the job's run: one of this service, several of them, or none. */
function JobRun({ job }: { job: Job }) {
  if (job.run_id !== null) return <Link href={`/runs/${job.run_id}`}>run {job.run_id}</Link>;
  return <>{job.is_own ? "several runs" : "not of this service"}</>;
}
