/** The clusters in brief, beside the experiments: what is free, what waits, who does not answer. */
import { Link } from "wouter";
import type { ClusterView } from "@/shared/api/types";
import { plural } from "@/shared/format/number";
import { age } from "@/shared/format/time";
import { useNow } from "@/shared/page/useNow";
import { useClusters } from "./api/useClusters";
import { clusterName } from "./clusterName";
import { NodeGrid } from "./NodeGrid";
import "@/features/cluster/cluster.css";

export function ClusterStrip() {
  const { data } = useClusters();
  if (!data) return null;
  return (
    <aside className="strip" aria-labelledby="clusters">
      <h2 id="clusters">
        <Link href="/clusters">Clusters</Link>
      </h2>
      {data.length === 0 && <p className="small muted">No scheduler has reported yet.</p>}
      {data.map((cluster) => (
        <Brief key={cluster.kind} cluster={cluster} />
      ))}
    </aside>
  );
}

function Brief({ cluster }: { cluster: ClusterView }) {
  const now = useNow(5000);
  const { report, error } = cluster;
  const waiting = report?.queue.filter((job) => job.state.toUpperCase() === "PENDING").length ?? 0;
  return (
    <section className="brief">
      <h3>{clusterName(cluster.kind)}</h3>
      {error && (
        <div className="small">
          <p className="brief-error brief-words" role="alert">
            Does not answer: {error}
          </p>
          <p className="muted">asked {age(cluster.asked_at, now)}</p>
        </div>
      )}
      {report && (
        <>
          <NodeGrid nodes={report.nodes} />
          <dl className="small">
            {report.partitions.map((partition) => (
              <div key={partition.name}>
                <dt>{partition.name}</dt>
                <dd>
                  {partition.idle_nodes} of {partition.nodes} idle
                </dd>
              </div>
            ))}
            <div>
              <dt>queue</dt>
              <dd>
                {report.queue.length ? `${plural(report.queue.length, "job")}, ${waiting} waiting` : "empty"}
              </dd>
            </div>
          </dl>
        </>
      )}
    </section>
  );
}
