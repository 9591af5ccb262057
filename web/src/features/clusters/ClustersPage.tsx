/** The page of the clusters: partitions, queue and nodes. */
import type { ClusterView, NodeFailureReport } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { useNow } from "@/shared/api/clock";
import { useTitle } from "@/shared/page/PageHeader";
import { clusterName, countJobs, useClusters } from "./clusters";
import { NodeFailureTable, useNodeFailures } from "./NodeFailureTable";
import { ClusterError } from "./ClusterError";
import styles from "./ClustersPage.module.css";
import { NodeGrid, NodeLegend, nodesText } from "./NodeGrid";
import { NodeTable, PartitionTable, QueueTable } from "./ClusterTables";

export function ClustersPage() {
  const { data, error } = useClusters();
  const failures = useNodeFailures();
  useTitle("Clusters");
  if (!data) return <QueryStatus error={error} />;
  return (
    <>
      <h1>Clusters</h1>
      {data.length === 0 && (
        <EmptyState title="No cluster has reported yet">
          <p className="muted">
            The scheduler polls its clusters every few seconds. Check that the scheduler runs.
          </p>
        </EmptyState>
      )}
      {data.map((cluster) => (
        <Cluster key={cluster.kind} cluster={cluster} failures={failures.data} />
      ))}
    </>
  );
}

/** Return the limits of a cluster in words: the length of a job array, and the jobs of Bigbatch. */
function limitsText({ tasks, jobs }: { tasks: number; jobs: number | null }) {
  const most = jobs === null ? "" : `, at most ${formatCount(jobs)} jobs of Bigbatch`;
  return tasks > 1 ? `job arrays of up to ${formatCount(tasks)} tasks${most}` : `no job arrays${most}`;
}

/** Return the number of failures of each node of a cluster that failed. */
function countFailures(report: NodeFailureReport | undefined, cluster: string): Map<string, number> {
  const failed = report?.nodes.filter((node) => node.cluster === cluster && node.node_failures > 0) ?? [];
  return new Map(failed.map((node) => [node.node, node.node_failures]));
}

interface Props {
  cluster: ClusterView;
  failures: NodeFailureReport | undefined;
}

function Cluster({ cluster, failures }: Props) {
  const now = useNow();
  const { report, error } = cluster;
  return (
    <section className={styles.cluster} aria-label={clusterName(cluster.kind)}>
      <header className={styles.clusterHeader}>
        <h2>{clusterName(cluster.kind)}</h2>
        <p className="small muted">asked {formatAge(cluster.asked_at, now)}</p>
        {report && (
          <p className="small muted">
            {nodesText(report.nodes)}; {pluralize(countJobs(report.queue), "job")}
            {report.admits && `; ${limitsText(report.admits)}`}
          </p>
        )}
      </header>
      {error && (
        <ClusterError>
          The cluster does not answer: {error}.{report && " The tables show its last answer."}
        </ClusterError>
      )}
      {report && (
        <>
          <NodeGrid nodes={report.nodes} failures={countFailures(failures, cluster.kind)} />
          <NodeLegend nodes={report.nodes} />
          <PartitionTable partitions={report.partitions} />
          <QueueTable queue={report.queue} />
          <NodeTable nodes={report.nodes} queue={report.queue} />
        </>
      )}
      {failures && <NodeFailureTable report={failures} cluster={cluster.kind} />}
    </section>
  );
}
