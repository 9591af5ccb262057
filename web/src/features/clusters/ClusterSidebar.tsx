/** A summary of the clusters next to the experiments: idle nodes, pending jobs, and errors. */
import { Link } from "wouter";
import type { ClusterView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { useNow } from "@/shared/api/clock";
import { clusterName, countJobs, outText, useClusters } from "./clusters";
import { ClusterError } from "./ClusterError";
import styles from "./ClusterSidebar.module.css";
import { NodeGrid, NodeLegend } from "./NodeGrid";

export function ClusterSidebar() {
  const { data } = useClusters();
  if (!data) return null;
  return (
    <aside className={styles.sidebar} aria-labelledby="clusters">
      <h2 id="clusters">
        <Link href="/clusters">Clusters</Link>
      </h2>
      {data.length === 0 && <p className="small muted">No scheduler has reported yet.</p>}
      {data.map((cluster) => (
        <ClusterSummary key={cluster.kind} cluster={cluster} />
      ))}
    </aside>
  );
}

function ClusterSummary({ cluster }: { cluster: ClusterView }) {
  const now = useNow(5000);
  const { report, error } = cluster;
  const queue = report?.queue ?? [];
  const own = countJobs(queue.filter((job) => job.is_own));
  const pending = countJobs(queue.filter((job) => job.state.toUpperCase() === "PENDING"));
  return (
    <section className={styles.clusterSummary}>
      <h3>{clusterName(cluster.kind)}</h3>
      {error && (
        <div className="small">
          <ClusterError clamped>Does not answer: {error}</ClusterError>
          <p className="muted">asked {formatAge(cluster.asked_at, now)}</p>
        </div>
      )}
      {report && (
        <>
          <NodeGrid nodes={report.nodes} />
          <NodeLegend nodes={report.nodes} />
          <dl className="small">
            {report.partitions.map((partition) => (
              <div key={partition.name}>
                <dt>{partition.name}</dt>
                <dd>
                  {[`${partition.idle_nodes} of ${partition.nodes} idle`, ...outText(partition)].join(", ")}
                </dd>
              </div>
            ))}
            <div>
              <dt>queue</dt>
              <dd>
                {queue.length
                  ? `${pluralize(countJobs(queue), "job")}, ${own} of this service, ${pending} pending`
                  : "empty"}
              </dd>
            </div>
          </dl>
        </>
      )}
    </section>
  );
}
