/** The mesh of a run's ranks: each replica is a line, a square, or the layers of a cube of ranks. */
import type { RunDetail } from "@/shared/api/types";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { formatCount } from "@/shared/format/number";
import { CELL, GAP, type Mesh, meshOf, placeRanks } from "./meshLayout";
import styles from "./RankMesh.module.css";

const MAX_REPLICAS = 8; // more would fill a page

export function RankMesh({ run }: { run: RunDetail }) {
  const mesh = run.spec.kind === "engine" && run.spec.tensor ? meshOf(run.spec.tensor) : null;
  if (!mesh) return null;
  const replicas = Math.floor(run.world / mesh.size);
  const shown = Math.min(replicas, MAX_REPLICAS);
  return (
    <div className={styles.mesh}>
      <PanelHeader>
        <h3>Mesh of the ranks</h3>
        <span className="muted small">
          {formatCount(replicas)} {replicas === 1 ? "replica" : "replicas"} of {mesh.text}
        </span>
      </PanelHeader>
      <div className={styles.replicas}>
        {Array.from({ length: shown }, (_, replica) => (
          <Replica key={replica} mesh={mesh} replica={replica} />
        ))}
      </div>
      {replicas > shown && <p className="small muted">and {formatCount(replicas - shown)} more replicas</p>}
    </div>
  );
}

function Replica({ mesh, replica }: { mesh: Mesh; replica: number }) {
  const { ranks, width, height } = placeRanks(mesh);
  const label = `Replica ${replica}: ranks ${replica * mesh.size} to ${(replica + 1) * mesh.size - 1}`;
  return (
    <svg
      role="img"
      aria-label={label}
      data-testid="mesh"
      viewBox={`0 0 ${width} ${height}`}
      style={{ width: `${width}px` }}
    >
      {ranks.map(({ x, y }, rank) => (
        <g key={rank} transform={`translate(${x} ${y})`}>
          <title>{`rank ${replica * mesh.size + rank}: ${mesh.coordinates(rank)}`}</title>
          <rect width={CELL - GAP} height={CELL - GAP} rx="3" />
          <text x={(CELL - GAP) / 2} y={(CELL - GAP) / 2 + 3.5} textAnchor="middle">
            {replica * mesh.size + rank}
          </text>
        </g>
      ))}
    </svg>
  );
}
