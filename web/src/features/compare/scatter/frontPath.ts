/** The steps of a Pareto front in pixels. */
import type { Position } from "@/shared/plot/scales";
import type { Goal } from "./pareto";

/** Return the path through points by ascending x: its corners are on the side of the worse values. */
export function frontPath(
  points: readonly { x: number; y: number }[],
  atX: Position,
  atY: Position,
  { isHighX }: Goal,
): string {
  return points
    .map(({ x, y }, index) => {
      if (!index) return `M${atX(x)} ${atY(y)}`;
      // with a lower x better, the front stays at the y of the point before until the next x
      return isHighX ? `V${atY(y)}H${atX(x)}` : `H${atX(x)}V${atY(y)}`;
    })
    .join("");
}
