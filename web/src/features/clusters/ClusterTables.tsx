/** The tables of a cluster: partitions, queue and nodes. */
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { ClusterView } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./ClusterTables.module.css";
import { isDown } from "./NodeGrid";

type Report = NonNullable<ClusterView["report"]>;

export function PartitionTable({ partitions }: { partitions: Report["partitions"] }) {
  return (
    <Table
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
            {partition.nodes} {partition.whole_nodes && <span className="muted">exclusive nodes</span>}
          </td>
          <td>{formatCount(partition.cpus)}</td>
          <td>{partition.time_limit}</td>
          <td>{partition.gres || "–"}</td>
        </tr>
      ))}
    </Table>
  );
}

export function QueueTable({ queue }: { queue: Report["queue"] }) {
  if (!queue.length) return <p className="muted">The queue is empty.</p>;
  const ofOthers = queue.filter((job) => !job.is_own);
  return (
    <Table
      title="Queue"
      columns={["Job", "Run", "Name", "User", "Partition", "State", "Nodes", "Elapsed", "Nodes / reason"]}
    >
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
          <td>{job.nodes}</td>
          <td>{job.elapsed}</td>
          <td>{job.reason}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Show the job's run: one of this service, several of them, or none. */
function JobRun({ job }: { job: Report["queue"][number] }) {
  if (job.run_id !== null) return <Link href={`/runs/${job.run_id}`}>run {job.run_id}</Link>;
  return <>{job.is_own ? "several runs" : "not of this service"}</>;
}

export function NodeTable({ nodes }: { nodes: Report["nodes"] }) {
  return (
    <Table
      title="Nodes"
      columns={["Node", "State", "Partitions", "Busy cores", "Memory", "Gres", "Features"]}
    >
      {nodes.map((node) => (
        <tr key={node.name}>
          <td>{node.name}</td>
          <td className={classNames(isDown(node) && styles.downState)}>{node.state}</td>
          <td>{node.partitions.join(", ")}</td>
          <td>
            {node.busy_cpus} of {node.cpus}
          </td>
          <td>{Math.round(node.memory_mb / 1024)} GiB</td>
          <td>{node.gres || "–"}</td>
          <td>{node.features.join(", ") || "–"}</td>
        </tr>
      ))}
    </Table>
  );
}

const FEW = 50; // rows of a table before a click: thousands of nodes would make a page of 130,000 pixels
const MORE = 200; // rows that a click adds

interface TableProps {
  title: string;
  columns: string[];
  children: ReactNode[];
}

function Table({ title, columns, children }: TableProps) {
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
