/** The share of the sum that each rank holds after some rounds of a plan, chunk by chunk. */
import type { PlanView } from "@/shared/api/types";

/** Return shares by rank and chunk, from 1 / world (the rank's own part) to 1 (the complete sum). */
export function chunkShares(plan: PlanView, rounds: number): number[][] {
  const world = plan.hosts.flat().length;
  // One bit for each of up to 64 ranks: the ranks whose part is in the chunk.
  const parts = Array.from({ length: world }, (_, rank) =>
    Array.from({ length: plan.chunks }, () => 1n << BigInt(rank)),
  );
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
    const known = shares.get(set) ?? countBits(set) / world;
    shares.set(set, known);
    return known;
  };
  return parts.map((chunks) => chunks.map(share));
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
