/** The share of the result that each rank holds after some rounds of a plan, chunk by chunk. */
import type { PlanView } from "@/shared/api/types";
import { blockOf, hasSums } from "../operations";

/**
 * Return shares by rank and chunk: of a sum from 1 / world (the rank's own part) to 1 (the complete sum), of what is
 * copied 0 (not there yet) or 1.
 */
export function chunkShares(plan: PlanView, rounds: number): number[][] {
  const world = plan.hosts.flat().length;
  const sums = hasSums(plan.operation);
  const parts = partsAtStart(plan);
  for (const { src, dst, start, size, add } of plan.rounds.slice(0, rounds)) {
    src.forEach((from, i) => {
      const [mine, theirs] = [parts[dst[i] ?? 0] ?? [], parts[from] ?? []];
      const first = start[i] ?? 0;
      for (let chunk = first; chunk < first + (size[i] ?? 0); chunk++) {
        const arriving = theirs[chunk] ?? 0n;
        mine[chunk] = add[i] ? (mine[chunk] ?? 0n) | arriving : arriving;
      }
    });
  }
  const shares = new Map<bigint, number>(); // few distinct sets occur, each of them often
  const share = (set: bigint) => {
    const known = shares.get(set) ?? (sums ? countBits(set) / world : Number(set !== 0n));
    shares.set(set, known);
    return known;
  };
  return parts.map((chunks) => chunks.map(share));
}

/** Return for each rank and chunk a bit for each of up to 64 ranks: those whose part is in the chunk. */
function partsAtStart(plan: PlanView): bigint[][] {
  const ranks = plan.hosts.flat();
  return Array.from({ length: ranks.length }, (_, rank) => {
    const own = 1n << BigInt(rank);
    const number = ranks.indexOf(rank);
    const [first, end] = plan.operation === "all_gather" ? blockOf(plan, number) : [0, plan.chunks];
    const hasNone = plan.operation === "broadcast" && number > 0;
    return Array.from({ length: plan.chunks }, (_, chunk) =>
      hasNone || chunk < first || chunk >= end ? 0n : own,
    );
  });
}

/** Return at most `most` averages of neighboring shares, for a cell that is too narrow for all of them. */
export function averageShares(shares: number[], most = 16): number[] {
  const bins = Math.min(most, shares.length);
  return Array.from({ length: bins }, (_, bin) => {
    const part = shares.slice(
      Math.floor((bin * shares.length) / bins),
      Math.floor(((bin + 1) * shares.length) / bins),
    );
    return part.reduce((sum, share) => sum + share, 0) / part.length;
  });
}

function countBits(set: bigint): number {
  let found = 0;
  for (let rest = set; rest; rest &= rest - 1n) found++;
  return found;
}
