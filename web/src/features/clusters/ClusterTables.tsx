/** The tables of a cluster's report: partitions, nodes and queue. */
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useNow } from "@/shared/api/clock";
import type { ClusterView } from "@/shared/api/types";
import { formatCount, ordinal, pluralize } from "@/shared/format/number";
import { formatClock, formatMoment } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { outText } from "./clusters";
import styles from "./ClusterTables.module.css";
import { isDown } from "./NodeGrid";

type Report = NonNullable<ClusterView["report"]>;
type Job = Report["queue"][number];

const FEW = 50; // rows of a table before a click: thousands of nodes would make a page of 130,000 pixels
const MORE = 200; // rows that a click adds

interface TableProps {
  title: string;
  columns: string[];
  children: ReactNode[];
}

/** A table of a cluster's page: its first rows, and more on request. */
export function ClusterTable({ title, columns, children }: TableProps) {
  const [most, setMost] = useState(FEW);
  const className = classNames("scroll panel", styles.clusterTable);
  const rest = children.length - most;
  return (
    <div>
      <ScrollRegion className={className} label={title}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children.slice(0, most)}</tbody>
        </table>
      </ScrollRegion>
      {rest > 0 && (
        <p className={classNames("small", styles.rest)}>
          <button
            className="button small"
            onClick={() => {
              setMost(most + MORE);
            }}
          >
            {formatCount(Math.min(rest, MORE))} more
          </button>{" "}
          <span className="muted">
            {title}: {formatCount(most)} of {formatCount(children.length)}
          </span>
        </p>
      )}
    </div>
  );
}

/** The partitions of a cluster. */
export function PartitionTable({ partitions }: { partitions: Report["partitions"] }) {
  return (
    <ClusterTable
      title="Partitions"
      columns={["Partition", "State", "Idle", "Nodes", "Cores", "Time limit", "Gres"]}
    >
      {partitions.map((partition) => (
        <tr key={partition.name}>
          <td>
            {partition.name} {partition.is_default && <span className="muted">default</span>}
          </td>
          <td>{partition.state}</td>
          <td>{partition.idle_nodes}</td>
          <td>
            {[formatCount(partition.nodes), ...outText(partition)].join(", ")}{" "}
            {partition.whole_nodes && <span className="muted">exclusive nodes</span>}
          </td>
          <td>{formatCount(partition.cpus)}</td>
          <td>{partition.time_limit}</td>
          <td>{partition.gres || "–"}</td>
        </tr>
      ))}
    </ClusterTable>
  );
}

const COLUMNS = ["Node", "State", "Jobs", "Partitions", "Busy cores", "Memory", "Gres", "Features"];
const MOST_LINKS = 4; // of a node: a node of many cores may have hundreds of jobs

/** The nodes of a cluster, each with the jobs on it. */
export function NodeTable({ nodes, queue }: { nodes: Report["nodes"]; queue: Job[] }) {
  const jobs = new Map(queue.map((job) => [job.job_id, job]));
  return (
    <ClusterTable title="Nodes" columns={COLUMNS}>
      {nodes.map((node) => (
        <tr key={node.name}>
          <td>{node.name}</td>
          <td className={classNames(isDown(node) && styles.downState)}>{node.state}</td>
          <td>
            <NodeJobs jobs={node.jobs.flatMap((id) => jobs.get(id) ?? [])} />
          </td>
          <td>{node.partitions.join(", ")}</td>
          <td>
            {node.busy_cpus} of {node.cpus}
          </td>
          <td>{Math.round(node.memory_mb / 1024)} GiB</td>
          <td>{node.gres || "–"}</td>
          <td>{node.features.join(", ") || "–"}</td>
        </tr>
      ))}
    </ClusterTable>
  );
}

/** The jobs on a node: a link for each run of this service, and the number of all others. */
function NodeJobs({ jobs }: { jobs: Job[] }) {
  const own = jobs.filter((job) => job.is_own);
  const linked = own.filter((job) => job.run_id !== null).slice(0, MOST_LINKS);
  const more = own.length - linked.length;
  const others = jobs.length - own.length;
  const texts = [more && `${pluralize(more, "job")} of this service`, others && `${others} of others`];
  const rest = texts.filter(Boolean).join(", ");
  return (
    <span className={styles.jobs}>
      {linked.map(({ run_id: run, job_id: job }) => (
        <Link key={job} href={`/runs/${run}`} title={`job ${job}`}>
          run {run}
        </Link>
      ))}
      {(rest || !linked.length) && <span className="muted">{rest || "–"}</span>}
    </span>
  );
}

const QUEUE_COLUMNS = [
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

/** The queue of a cluster: the jobs of this service first, each with its place and the reason why it waits. */
export function QueueTable({ queue }: { queue: Job[] }) {
  const now = useNow(60_000);
  if (!queue.length) return <p className="muted">The queue is empty.</p>;
  const ofOthers = queue.filter((job) => !job.is_own);
  return (
    <ClusterTable title="Queue" columns={QUEUE_COLUMNS}>
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
