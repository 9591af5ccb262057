/** The nodes of a cluster on which attempts failed lately: node failures, and other causes apart. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { body, client } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import type { NodeFailureReport } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { formatAge } from "@/shared/format/time";
import { ClusterTable } from "./ClusterTables";
import styles from "./NodeFailureTable.module.css";

type NodeFailures = NodeFailureReport["nodes"][number];

const COLUMNS = ["Node", "Node failures", "Other causes", "Attempts", "Last", "Reason", "Runs"];

interface Props {
  report: NodeFailureReport;
  cluster: string;
}

export function NodeFailureTable({ report, cluster }: Props) {
  const now = useNow(60_000);
  const nodes = report.nodes.filter((node) => node.cluster === cluster);
  const rest = report.total - report.nodes.length;
  return (
    <div className={styles.nodeFailures}>
      <h3>Node failures in the last 30 days</h3>
      {nodes.length ? (
        <ClusterTable title="Node failures" columns={COLUMNS}>
          {nodes.map((node) => (
            <Row key={node.node} node={node} now={now} />
          ))}
        </ClusterTable>
      ) : (
        <p className="small muted">No attempt failed on a known node.</p>
      )}
      {nodes.some(({ possible }) => possible > 0) && (
        <p className="small muted">Possible: one of several nodes failed, and it is not known which one.</p>
      )}
      {rest > 0 && <p className="small muted">{pluralize(rest, "more node")} had fewer failures.</p>}
      {!report.is_complete && (
        <p className="small muted">
          Only the newest attempts were counted, and the newest failures of these.
        </p>
      )}
    </div>
  );
}

function Row({ node, now }: { node: NodeFailures; now: number }) {
  const [last] = node.newest;
  const runs = [...new Set(node.newest.map((attempt) => attempt.run_id))];
  return (
    <tr>
      <td>{node.node}</td>
      <td>
        {formatCount(node.node_failures)}
        {node.possible > 0 && <span className="muted"> and {formatCount(node.possible)} possible</span>}
      </td>
      <td>{causesText(node.other_causes)}</td>
      <td>{formatCount(node.attempts)}</td>
      <td>{last ? formatAge(last.at, now) : "–"}</td>
      <td className={styles.failureReason}>{last?.reason ?? last?.cause.replaceAll("_", " ") ?? "–"}</td>
      <td className={styles.failedRuns}>
        {runs.map((run) => (
          <Link key={run} href={`/runs/${run}`}>
            run {run}
          </Link>
        ))}
      </td>
    </tr>
  );
}

/** Return "2 failure of the run, 1 out of memory". */
function causesText(causes: NodeFailures["other_causes"]): string {
  const texts = Object.entries(causes).map(
    ([cause, count]) => `${formatCount(count)} ${CAUSES[cause] ?? cause.replaceAll("_", " ")}`,
  );
  return texts.join(", ") || "–";
}

const CAUSES: Record<string, string> = { failure: "failure of the run", lost: "lost by the cluster" };

const INTERVAL_MS = 60_000; // the service makes the answer once a minute
const MOST_NODES = 200;

/** GET /clusters/node-failures: the nodes on which attempts failed in the last 30 days. */
export function useNodeFailures() {
  const params = { query: { limit: MOST_NODES } };
  return useQuery({
    queryKey: keys.nodeFailures(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/clusters/node-failures", { params, signal })),
    refetchInterval: INTERVAL_MS,
  });
}
