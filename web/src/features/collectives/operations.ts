/** The operations that have plans: their names, what they promise, and how each algorithm carries them out. */
import type { PlanView } from "@/shared/api/types";
import { type Collective, nameOf, sourceOf } from "@/shared/format/collectives";
import { changeAddress, useAddress } from "@/shared/page/address";

export type Operation = PlanView["operation"];

interface Texts {
  title: string;
  start: string; // before the first round
  end: string; // after the last round
  alone: string; // of a single rank
}

const PARTS = "each rank holds its own part.";
const ALONE = "A single rank has the complete sum from the start.";
export const OPERATIONS: Record<Operation, Texts> = {
  all_reduce: { title: "All-reduce", start: PARTS, end: "Every rank has the complete sum.", alone: ALONE },
  all_gather: {
    title: "All-gather",
    start: "each rank holds its own block.",
    end: "Every rank has the blocks of all ranks.",
    alone: "A single rank has all blocks from the start.",
  },
  reduce_scatter: {
    title: "Reduce-scatter",
    start: PARTS,
    end: "Every rank has the complete sum of its own block.",
    alone: ALONE,
  },
  broadcast: {
    title: "Broadcast",
    start: "the first rank holds the vector.",
    end: "Every rank has the vector of the first rank.",
    alone: "A single rank has the vector from the start.",
  },
  reduce: { title: "Reduce", start: PARTS, end: "The first rank has the complete sum.", alone: ALONE },
};

/** The name and the source of an algorithm where an operation other than the all-reduce uses it. */
const ALGORITHMS: Partial<Record<string, [name: string, source: string]>> = {
  "all_gather ring": [
    "Ring",
    "Each rank sends the block that it received last to the next rank, n − 1 times",
  ],
  "all_gather halving_doubling": [
    "Recursive doubling",
    "Ranks at the distances 1, 2, 4, … exchange all blocks that they have. Thakur et al., 2005",
  ],
  "reduce_scatter ring": ["Ring", "Each rank adds its part to a block and sends the block on, n − 1 times"],
  "reduce_scatter halving_doubling": [
    "Recursive halving",
    "Exchange halves, then quarters, then eighths; each receiver adds. Thakur et al., 2005",
  ],
  "broadcast tree": [
    "Binomial tree",
    "Each rank that has the vector sends it to one more rank in every round",
  ],
  "reduce tree": ["Binomial tree", "Pairs sum, then pairs of pairs, until one rank has the sum"],
};

export function algorithmName(collective: Collective, operation: Operation): string {
  return ALGORITHMS[`${operation} ${collective.kind}`]?.[0] ?? nameOf(collective);
}

export function algorithmSource(collective: Collective, operation: Operation): string {
  return ALGORITHMS[`${operation} ${collective.kind}`]?.[1] ?? sourceOf(collective);
}

/** Return whether ranks add what arrives; in an all-gather and a broadcast they only copy it. */
export function hasSums(operation: Operation): boolean {
  return operation !== "all_gather" && operation !== "broadcast";
}

/** Return the first chunk of a rank's block, and the first after it; `number` is the rank's in the plan's order. */
export function blockOf(plan: PlanView, number: number): [first: number, end: number] {
  const world = plan.hosts.flat().length;
  return [Math.floor((plan.chunks * number) / world), Math.floor((plan.chunks * (number + 1)) / world)];
}

/** Return the chunks that a rank must have at the end; none on ranks to which the operation promises nothing. */
export function promisedChunks(plan: PlanView, rank: number): [first: number, end: number] {
  const number = plan.hosts.flat().indexOf(rank);
  if (plan.operation === "reduce_scatter") return blockOf(plan, number);
  return plan.operation === "reduce" && number > 0 ? [0, 0] : [0, plan.chunks];
}

const NAME = "operation";

/** The operation of the page; the address stores it, so a link shows the same plan. */
export function useOperation(): [Operation, (to: string) => void] {
  const given = useAddress().get(NAME) ?? "";
  const change = (to: string) => {
    changeAddress({ [NAME]: to, round: "" }); // the plan is another one
  };
  return [isOperation(given) ? given : "all_reduce", change];
}

function isOperation(text: string): text is Operation {
  return Object.hasOwn(OPERATIONS, text);
}
