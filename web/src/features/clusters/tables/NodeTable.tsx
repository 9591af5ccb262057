/** The nodes of a cluster, each with the jobs on it. */
import { Link } from "wouter";
import type { ClusterView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { isDown } from "../NodeGrid";
import { ClusterTable } from "./ClusterTable";
import styles from "./NodeTable.module.css";

type Report = NonNullable<ClusterView["report"]>;
type Job = Report["queue"][number];

const COLUMNS = ["Node", "State", "Jobs", "Partitions", "Busy cores", "Memory", "Gres", "Features"];
const MOST_LINKS = 4; // of a node: a node of many cores may have hundreds of jobs

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
