/** The times that a run spent in its states. */
import type { MoveView, RunDetail } from "@/shared/api/types";
import { secondsBetween } from "@/shared/format/time";
import { hasEnded } from "@/shared/state/state";

export interface Span {
  move: MoveView;
  seconds: number; // 0 for the end of a run
  open: boolean; // the run is in this state
}

export function spansOf(moves: MoveView[], now: number): Span[] {
  return moves.map((move, index) => {
    const next = moves[index + 1];
    const ended = !next && hasEnded(move.new);
    const seconds = ended ? 0 : Math.max(0, secondsBetween(move.at, next?.at ?? now));
    return { move, seconds, open: !next && !ended };
  });
}

/** Return the seconds in each state, in the order in which the run first came into it. */
export function totalsOf(spans: Span[]): [RunDetail["state"], number][] {
  const totals = new Map<RunDetail["state"], number>();
  for (const { move, seconds } of spans) totals.set(move.new, (totals.get(move.new) ?? 0) + seconds);
  return [...totals].filter(([, seconds]) => seconds > 0);
}
