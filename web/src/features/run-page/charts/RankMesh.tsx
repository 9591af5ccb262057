/** The mesh of a run's ranks: each replica is a line, a square, or the layers of a cube of ranks. */
import type { components } from "@/shared/api/schema";
import type { RunDetail } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { PanelHeader } from "@/shared/page/PanelHeader";
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

type Tensor = components["schemas"]["OneD"] | components["schemas"]["TwoD"] | components["schemas"]["ThreeD"];

export const CELL = 26; // pixels from a rank to the next
const GAP = 3;
const LAYER_GAP = 10; // between the layers of a cube

interface Mesh {
  axes: string[];
  side: number;
  size: number;
  text: string;
  coordinates: (rank: number) => string;
}

export function meshOf(tensor: Tensor): Mesh {
  switch (tensor.kind) {
    case "one_d":
      return makeMesh(["i"], tensor.ranks);
    case "two_d":
      return makeMesh(["i", "j"], tensor.q);
    case "three_d":
      return makeMesh(["i", "j", "l"], tensor.q);
  }
}

function makeMesh(axes: string[], side: number): Mesh {
  const size = side ** axes.length;
  const sum = axes.map(() => side).join(" × ");
  return {
    axes,
    side,
    size,
    text: axes.length === 1 ? `${size} ranks` : `${sum} = ${size} ranks`,
    coordinates: (rank) =>
      axes.map((axis, index) => `${axis} = ${digit(rank, index, axes, side)}`).join(", "),
  };
}

function digit(rank: number, index: number, axes: string[], side: number): number {
  return Math.floor(rank / side ** (axes.length - 1 - index)) % side;
}

/** Return the corner of each rank: i downwards and j to the right; the layers l of a cube stand side by side. */
export function placeRanks({ axes, side, size }: Mesh) {
  const at = (rank: number, axis: string) =>
    axes.includes(axis) ? digit(rank, axes.indexOf(axis), axes, side) : 0;
  const isLine = axes.length === 1;
  const layer = side * CELL + LAYER_GAP;
  const ranks = Array.from({ length: size }, (_, rank) => ({
    x: isLine ? at(rank, "i") * CELL : at(rank, "l") * layer + at(rank, "j") * CELL,
    y: isLine ? 0 : at(rank, "i") * CELL,
  }));
  const layers = axes.length === 3 ? side : 1;
  return {
    ranks,
    width: layers * side * CELL + (layers - 1) * LAYER_GAP,
    height: isLine ? CELL : side * CELL,
  };
}
