/** The places of a replica's ranks in a drawing of its mesh. */
import type { components } from "@/shared/api/schema";

type Tensor = components["schemas"]["OneD"] | components["schemas"]["TwoD"] | components["schemas"]["ThreeD"];

export const CELL = 26; // pixels from a rank to the next
export const GAP = 3;
const LAYER_GAP = 10; // between the layers of a cube

export interface Mesh {
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
