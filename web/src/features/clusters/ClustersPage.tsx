/** The clusters in full: partitions, nodes and the queue. */
import type { ClusterView } from "@/shared/api/types";
import { count, plural } from "@/shared/format/number";
import { age } from "@/shared/format/time";
import { Notice, Pending } from "@/shared/messages/QueryStatus";
import { useNow } from "@/shared/page/useNow";
import { useTitle } from "@/shared/page/useTitle";
import { useClusters } from "./api/useClusters";
import { NodeTable, PartitionTable, QueueTable } from "./ClusterTables";
import { clusterName } from "./clusterName";
import { NodeGrid } from "./NodeGrid";
import "@/features/cluster/cluster.css";

export function ClusterPage() {
  const { data, error } = useClusters();
  useTitle("Clusters");
  if (!data) return <Pending error={error} />;
  return (
    <>
      <h1>Clusters</h1>
      {data.length === 0 && (
        <Notice title="No cluster has reported yet">
          <p className="muted">The scheduler asks its clusters every few seconds; it may not be running.</p>
        </Notice>
      )}
      {data.map((cluster) => (
        <Cluster key={cluster.kind} cluster={cluster} />
      ))}
    </>
  );
}

function admitted({ tasks, jobs }: { tasks: number; jobs: number | null }) {
  const most = jobs === null ? "" : `, ${count(jobs)} jobs of ours at once`;
  return tasks > 1 ? `arrays of up to ${count(tasks)}${most}` : `no job arrays${most}`;
}

function Cluster({ cluster }: { cluster: ClusterView }) {
  const now = useNow();
  const { report, error } = cluster;
  return (
    <section className="cluster" aria-label={clusterName(cluster.kind)}>
      <header className="cluster-head">
        <h2>{clusterName(cluster.kind)}</h2>
        <p className="small muted">asked {age(cluster.asked_at, now)}</p>
        {report && (
          <p className="small muted">
            {plural(report.nodes.length, "node")}, {plural(report.queue.length, "job")}
            {report.admits && `; ${admitted(report.admits)}`}
          </p>
        )}
      </header>
      {error && (
        <p className="brief-error" role="alert">
          It does not answer: {error}.{report && " What follows is what it said last."}
        </p>
      )}
      {report && (
        <>
          <NodeGrid nodes={report.nodes} />
          <PartitionTable partitions={report.partitions} />
          <QueueTable queue={report.queue} />
          <NodeTable nodes={report.nodes} />
        </>
      )}
    </section>
  );
}
