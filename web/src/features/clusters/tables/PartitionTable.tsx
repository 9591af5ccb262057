/** The partitions of a cluster. */
import type { ClusterView } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { outText } from "../outText";
import { ClusterTable } from "./ClusterTable";

type Report = NonNullable<ClusterView["report"]>;

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
