/** The nodes of a cluster as cells: filled as far as their cores are busy. */
import type { ClusterView } from "@/shared/api/types";
import "@/features/cluster/cluster.css";

type Node = NonNullable<ClusterView["report"]>["nodes"][number];
const DOWN = /down|drain|fail|maint|unk|no_respond|\*/i;

export function NodeGrid({ nodes }: { nodes: Node[] }) {
  return (
    <ul className="nodes" aria-label="Nodes">
      {nodes.map((node) => {
        const busy = node.cpus ? Math.min(1, node.busy_cpus / node.cpus) : 0;
        const text = `${node.name}: ${node.state}, ${node.busy_cpus} of ${node.cpus} cores busy`;
        return (
          <li key={node.name} className={`node ${isDown(node) ? "down" : busy ? "busy" : ""}`} title={text}>
            <i style={{ height: `${busy * 100}%` }} />
            <span className="visually-hidden">{text}</span>
          </li>
        );
      })}
    </ul>
  );
}

export function isDown(node: Node): boolean {
  return DOWN.test(node.state);
}
