/** Where hosts and ranks stand in the picture, and the way of a message between two of them. */
export const CELL = 44;
const GAP = 14;
const PAD = 11;
const HEAD = 17;
const BETWEEN = 16;
const ACROSS = 8; // ranks side by side, so that a telephone shows them too

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Scene {
  width: number;
  height: number;
  hosts: Box[];
  ranks: Map<number, { x: number; y: number; host: number }>; // the corner of each cell
}

/** A host to a block, its ranks in lines; blocks stand as near to a square as they can. */
export function scene(hosts: number[][]): Scene {
  const largest = Math.max(...hosts.map((host) => host.length));
  const columns = hosts.length > 1 ? Math.min(largest, ACROSS) : lineOf(largest);
  const lines = Math.ceil(largest / columns);
  const width = columns * (CELL + GAP) - GAP + 2 * PAD;
  const head = largest > 1 ? HEAD : 0; // a lone rank is its host
  const height = lines * (CELL + GAP) - GAP + 2 * PAD + head;
  const inRow = blocksInRow(hosts.length, columns, lines);
  const boxes = hosts.map((_, host) => ({
    x: (host % inRow) * (width + BETWEEN),
    y: Math.floor(host / inRow) * (height + BETWEEN),
    width,
    height,
  }));
  const ranks: Scene["ranks"] = new Map();
  boxes.forEach(({ x, y }, host) => {
    hosts[host]?.forEach((rank, place) => {
      const column = x + PAD + (place % columns) * (CELL + GAP);
      const line = y + head + PAD + Math.floor(place / columns) * (CELL + GAP);
      ranks.set(rank, { x: column, y: line, host });
    });
  });
  return {
    width: inRow * (width + BETWEEN) - BETWEEN,
    height: Math.ceil(hosts.length / inRow) * (height + BETWEEN) - BETWEEN,
    hosts: boxes,
    ranks,
  };
}

/** A gentle bow from cell to cell, always to the left of its direction, so that an exchange is two lines. */
export function way(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const half = CELL / 2;
  const [ax, ay, bx, by] = [from.x + half, from.y + half, to.x + half, to.y + half];
  const [dx, dy] = [bx - ax, by - ay];
  const length = Math.hypot(dx, dy);
  const bow = Math.min(0.22 * length, 46) / length;
  const [mx, my] = [(ax + bx) / 2 + dy * bow, (ay + by) / 2 - dx * bow];
  const [sx, sy] = toward(ax, ay, mx, my, half - 2);
  const [ex, ey] = toward(bx, by, mx, my, half + 3);
  return `M${sx} ${sy}Q${round(mx)} ${round(my)} ${ex} ${ey}`;
}

/** The point where the line from a cell's middle to (x, y) leaves the square of that half width. */
function toward(cx: number, cy: number, x: number, y: number, half: number): [number, number] {
  const [dx, dy] = [x - cx, y - cy];
  const reach = half / Math.max(Math.abs(dx), Math.abs(dy));
  return [round(cx + dx * reach), round(cy + dy * reach)];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function lineOf(ranks: number): number {
  const root = Math.ceil(Math.sqrt(ranks));
  for (let columns = root; columns <= Math.min(ranks, ACROSS); columns++) {
    if (ranks % columns === 0) return columns;
  }
  return Math.min(root, ACROSS);
}

function blocksInRow(hosts: number, columns: number, lines: number): number {
  let best = 1;
  const oblong = (blocks: number) => Math.abs(blocks * columns - Math.ceil(hosts / blocks) * lines);
  for (let blocks = 2; blocks * columns <= ACROSS; blocks++) {
    if (oblong(blocks) < oblong(best)) best = blocks;
  }
  return best;
}
