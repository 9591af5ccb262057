/** The names of the collectives: title, shape, source and key of each. */
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
  ring: "Each rank sends one block to the next rank, n − 1 times to sum and n − 1 times to distribute. Patarasuk & Yuan, 2009",
  torus:
    "Reduce-scatter along the rows, all-reduce along the columns, all-gather along the rows. Mikami et al., 2018",
  tree: "Pairs sum, then pairs of pairs, and the sum returns down the tree. FireCaffe: Iandola et al., 2015",
  colors: "Each color has its own tree, and no rank sums for two colors. Kumar et al., 2017",
  hierarchical:
    "Sum inside each group, a ring among the group masters, broadcast to the groups. Jia et al., 2018",
  halving_doubling:
    "Exchange halves, then quarters, then eighths; then gather them in reverse order. Rabenseifner, 2004",
  server: "All ranks send to the servers, which sum and reply: a baseline for comparison. Li et al., 2014",
};

export function nameOf(collective: Collective): string {
  return NAMES[collective.kind];
}

export function sourceOf(collective: Collective): string {
  return SOURCES[collective.kind];
}

/** Return "4 rows", "k = 2", "groups of 8" or "16 servers"; "" for a collective with a single shape. */
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

interface Shape {
  rows?: number | null;
  k?: number;
  group?: number | null;
  servers?: number;
}

/** Return the parameters of the shape, without timeout and wire format. */
export function shapeParameters(collective: Collective): Shape {
  const { rows, k, group, servers } = collective as Shape;
  return { rows, k, group, servers };
}

/** Return the key of a collective in the address: "torus-4". */
export function keyOf(collective: Collective): string {
  const { rows, k, group, servers } = shapeParameters(collective);
  return [collective.kind, rows ?? k ?? group ?? servers].filter(Boolean).join("-");
}
