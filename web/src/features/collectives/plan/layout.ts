/** The layout of a plan's diagram: the positions of hosts and ranks, and the path of a message between two ranks. */
export const CELL = 44;
const GAP = 14;
const PAD = 11;
const LABEL = 17; // the height of a host's name
const HOST_GAP = 16;
const MAX_COLUMNS = 8; // ranks in a row that a phone's screen can show

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  hosts: Box[];
  ranks: Map<number, { x: number; y: number; host: number }>; // the top left corner of each cell
}

/** Return a block for each host with its ranks in rows; the blocks form nearly a square. */
export function layoutHosts(hosts: number[][]): Layout {
  const largest = Math.max(...hosts.map((host) => host.length));
  const columns = hosts.length > 1 ? Math.min(largest, MAX_COLUMNS) : columnsOf(largest);
  const lines = Math.ceil(largest / columns);
  const width = columns * (CELL + GAP) - GAP + 2 * PAD;
  const label = largest > 1 ? LABEL : 0; // a host with a single rank has no name
  const height = lines * (CELL + GAP) - GAP + 2 * PAD + label;
  const inRow = blocksInRow(hosts.length, columns, lines);
  const boxes = hosts.map((_, host) => ({
    x: (host % inRow) * (width + HOST_GAP),
    y: Math.floor(host / inRow) * (height + HOST_GAP),
    width,
    height,
  }));
  const ranks: Layout["ranks"] = new Map();
  boxes.forEach(({ x, y }, host) => {
    hosts[host]?.forEach((rank, index) => {
      const column = x + PAD + (index % columns) * (CELL + GAP);
      const line = y + label + PAD + Math.floor(index / columns) * (CELL + GAP);
      ranks.set(rank, { x: column, y: line, host });
    });
  });
  return {
    width: inRow * (width + HOST_GAP) - HOST_GAP,
    height: Math.ceil(hosts.length / inRow) * (height + HOST_GAP) - HOST_GAP,
    hosts: boxes,
    ranks,
  };
}

/** Return an arc between two cells, bent to the left of its direction: an exchange is two separate lines. */
export function messagePath(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const half = CELL / 2;
  const [ax, ay, bx, by] = [from.x + half, from.y + half, to.x + half, to.y + half];
  const [dx, dy] = [bx - ax, by - ay];
  const length = Math.hypot(dx, dy);
  const bow = Math.min(0.22 * length, 46) / length;
  const [mx, my] = [(ax + bx) / 2 + dy * bow, (ay + by) / 2 - dx * bow];
  const [sx, sy] = edgePoint(ax, ay, mx, my, half - 2);
  const [ex, ey] = edgePoint(bx, by, mx, my, half + 3);
  return `M${sx} ${sy}Q${round(mx)} ${round(my)} ${ex} ${ey}`;
}

/** Return the point where the line from a cell's center to (x, y) leaves the square of that half width. */
function edgePoint(cx: number, cy: number, x: number, y: number, half: number): [number, number] {
  const [dx, dy] = [x - cx, y - cy];
  const reach = half / Math.max(Math.abs(dx), Math.abs(dy));
  return [round(cx + dx * reach), round(cy + dy * reach)];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function columnsOf(ranks: number): number {
  const root = Math.ceil(Math.sqrt(ranks));
  for (let columns = root; columns <= Math.min(ranks, MAX_COLUMNS); columns++) {
    if (ranks % columns === 0) return columns;
  }
  return Math.min(root, MAX_COLUMNS);
}

function blocksInRow(hosts: number, columns: number, lines: number): number {
  let best = 1;
  const elongation = (blocks: number) => Math.abs(blocks * columns - Math.ceil(hosts / blocks) * lines);
  for (let blocks = 2; blocks * columns <= MAX_COLUMNS; blocks++) {
    if (elongation(blocks) < elongation(best)) best = blocks;
  }
  return best;
}
