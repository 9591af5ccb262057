/** Where each chunk of a volume stands in the picture: the layers along z next to each other, in rows. */

export type ChunkCounts = readonly number[]; // along z, y and x

const WIDTH = 960;
const LARGEST_CELL = 14;
const LAYER_GAP = 1; // cells between two layers

export interface ChunkLayout {
  cell: number;
  width: number;
  height: number;
  place: (index: number) => { x: number; y: number };
}

/** Return the largest cells with which the layers are at most about as high as they are wide. */
export function layOut(counts: ChunkCounts): ChunkLayout {
  const [layers = 1, rows = 1, columns = 1] = counts;
  const across = acrossOf(layers, rows, columns);
  const width = across * (columns + LAYER_GAP) - LAYER_GAP;
  const height = Math.ceil(layers / across) * (rows + LAYER_GAP) - LAYER_GAP;
  const cell = Math.min(LARGEST_CELL, WIDTH / width);
  return {
    cell,
    width: width * cell,
    height: height * cell,
    place: (index) => {
      const layer = Math.floor(index / (rows * columns));
      const row = Math.floor(index / columns) % rows;
      return {
        x: ((layer % across) * (columns + LAYER_GAP) + (index % columns)) * cell,
        y: (Math.floor(layer / across) * (rows + LAYER_GAP) + row) * cell,
      };
    },
  };
}

/** Return how many layers stand next to each other. */
function acrossOf(layers: number, rows: number, columns: number): number {
  const fit = Math.floor(WIDTH / (LARGEST_CELL * (columns + LAYER_GAP)));
  const even = Math.ceil(Math.sqrt((3 * layers * (rows + LAYER_GAP)) / (columns + LAYER_GAP))); // three times as wide as high
  return Math.min(layers, Math.max(1, fit, even));
}

/** Return one SVG path with a square for each chunk of a state. */
export function pathOf(states: string, state: string, { cell, place }: ChunkLayout): string {
  const side = round(cell > 4 ? cell - 1 : cell * 0.9);
  let path = "";
  for (let index = states.indexOf(state); index >= 0; index = states.indexOf(state, index + 1)) {
    const { x, y } = place(index);
    path += `M${round(x)} ${round(y)}h${side}v${side}h${-side}z`;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
