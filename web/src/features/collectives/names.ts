/** Collectives by name: what it is called, its shape, and where it comes from. */
import type { PriceView } from "@/shared/api/types";

export type Collective = PriceView["collective"];

const NAMES: Record<Collective["kind"], string> = {
  ring: "Ring",
  torus: "2D torus",
  tree: "Binomial tree",
  colors: "Multi-color trees",
  hierarchical: "Hierarchical",
  halving_doubling: "Halving and doubling",
  server: "Parameter server",
};

const SOURCES: Record<Collective["kind"], string> = {
  ring: "Each rank hands one block to the next, n − 1 times to sum and n − 1 times to spread. Patarasuk & Yuan, 2009",
  torus: "Scatter along the rows, sum along the columns, gather along the rows. Mikami et al., 2018",
  tree: "Pairs sum, then pairs of pairs, and the sum goes back down. FireCaffe: Iandola et al., 2015",
  colors: "Each color is summed on a tree of its own, and no rank sums for two. Kumar et al., 2017",
  hierarchical: "Sum inside each group, a ring among the masters, back to the groups. Jia et al., 2018",
  halving_doubling: "Trade halves, then quarters, then eighths; double them back. Rabenseifner, 2004",
  server:
    "All send to those who serve, who sum and send back: the yardstick, not the choice. Li et al., 2014",
};

export function nameOf(collective: Collective): string {
  return NAMES[collective.kind];
}

export function sourceOf(collective: Collective): string {
  return SOURCES[collective.kind];
}

/** "4 rows", "k = 2", "groups of 8", "16 servers"; nothing where there is one shape only. */
export function shapeOf(collective: Collective): string {
  switch (collective.kind) {
    case "torus":
      return collective.rows ? `${collective.rows} rows` : "";
    case "colors":
      return `k = ${collective.k}`;
    case "hierarchical":
      return collective.group ? `groups of ${collective.group}` : "";
    case "server":
      return collective.servers === 1 ? "1 server" : `${collective.servers} servers`;
    default:
      return "";
  }
}

interface Figures {
  rows?: number | null;
  k?: number;
  group?: number | null;
  servers?: number;
}

/** What tells it from others of its kind, without how it is carried out. */
export function figuresOf(collective: Collective): Figures {
  const { rows, k, group, servers } = collective as Figures;
  return { rows, k, group, servers };
}

/** A word for the address bar: "torus-4". */
export function keyOf(collective: Collective): string {
  const { rows, k, group, servers } = figuresOf(collective);
  return [collective.kind, rows ?? k ?? group ?? servers].filter(Boolean).join("-");
}
