/** The nodes of a cluster as cells; the fill of a cell shows the share of busy cores. */
import type { ClusterView } from "@/shared/api/types";
import { formatCount, pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import styles from "./NodeGrid.module.css";

type Node = NonNullable<ClusterView["report"]>["nodes"][number];
const IDLE = /^idle/i;
const DRAIN = /^drain/i;
const DOWN = /down|drain|fail|maint|unk|no_respond|\*/i;

const MANY = 400; // nodes from which on their cells are small

interface Props {
  nodes: Node[];
  failures?: ReadonlyMap<string, number>; // of nodes in the last 30 days
}

export function NodeGrid({ nodes, failures }: Props) {
  return (
    <ul className={classNames(styles.nodeGrid, nodes.length > MANY && styles.smallCells)} aria-label="Nodes">
      {nodes.map((node) => {
        const busy = node.cpus ? Math.min(1, node.busy_cpus / node.cpus) : 0;
        const failed = failures?.get(node.name) ?? 0;
        const history = failed > 0 ? `; ${pluralize(failed, "node failure")} in 30 days` : "";
        const text = `${node.name}: ${node.state}, ${node.busy_cpus} of ${node.cpus} cores busy${history}`;
        return (
          <li
            key={node.name}
            className={classNames(
              styles.node,
              isDown(node) ? styles.down : busy > 0 && styles.busy,
              failed > 0 && styles.failedLately,
            )}
            title={text}
          >
            <i style={{ height: `${busy * 100}%` }} />
            <span className="visually-hidden">{text}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** What the cells mean, and how many there are of each kind. */
export function NodeLegend({ nodes }: { nodes: Node[] }) {
  const down = nodes.filter(isDown).length;
  const busy = nodes.filter((node) => !isDown(node) && node.busy_cpus > 0).length;
  const kinds = [
    [busy, "in use, filled by busy cores", styles.busy],
    [nodes.length - down - busy, "idle", ""],
    [down, "down or drained", styles.down],
  ] as const;
  return (
    <ul className={classNames("small muted", styles.nodeLegend)} aria-label="Legend of the nodes">
      {kinds.map(
        ([count, kind, style]) =>
          count > 0 && (
            <li key={kind}>
              <span className={classNames(styles.node, style)} aria-hidden="true">
                {style === styles.busy && <i className={styles.halfBusy} />}
              </span>
              {`${formatCount(count)} ${kind}`}
            </li>
          ),
      )}
    </ul>
  );
}

/** Return the nodes of each kind in words: "8 nodes: 5 in use, 2 idle, 1 down". */
export function nodesText(nodes: Node[]): string {
  const down = nodes.filter(isDown).length;
  const drained = nodes.filter((node) => DRAIN.test(node.state)).length;
  const idle = nodes.filter((node) => !isDown(node) && IDLE.test(node.state)).length;
  const kinds = [
    [nodes.length - down - idle, "in use"],
    [idle, "idle"],
    [drained, "drained"],
    [down - drained, "down"],
  ] as const;
  const present = kinds.filter(([count]) => count > 0).map(([count, kind]) => `${count} ${kind}`);
  return [pluralize(nodes.length, "node"), present.join(", ")].filter(Boolean).join(": ");
}

export function isDown(node: Node): boolean {
  return DOWN.test(node.state);
}
