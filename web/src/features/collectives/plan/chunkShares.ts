/** What each rank holds after some rounds of a plan: for every chunk, the share of all ranks whose part is in it. */
import type { PlanView } from "@/shared/api/types";

/** Shares from 1 / world (its own part alone) to 1 (the whole sum), by rank and chunk. */
export function holdings(plan: PlanView, rounds: number): number[][] {
  const world = plan.hosts.flat().length;
  // who is inside, one bit for each of up to 64 ranks
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
  const shares = new Map<bigint, number>(); // few sets occur, each very often
  const share = (set: bigint) => {
    const known = shares.get(set) ?? ones(set) / world;
    shares.set(set, known);
    return known;
  };
  return parts.map((chunks) => chunks.map(share));
}

/** At most `most` neighboring averages, for a cell that has no room for more. */
export function strips(shares: number[], most = 16): number[] {
  const bins = Math.min(most, shares.length);
  return Array.from({ length: bins }, (_, bin) => {
    const part = shares.slice(
      Math.floor((bin * shares.length) / bins),
      Math.floor(((bin + 1) * shares.length) / bins),
    );
    return part.reduce((sum, share) => sum + share, 0) / part.length;
  });
}

function ones(set: bigint): number {
  let found = 0;
  for (let rest = set; rest; rest &= rest - 1n) found++;
  return found;
}
