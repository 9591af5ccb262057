/** The Pareto front: the points that no other point beats in both figures. */
import type { Position } from "@/shared/plot/scales";

interface Goal {
  isHighX: boolean; // whether a greater x is better
  isHighY: boolean;
}

/** Return the indices of the front by ascending x; of equal points all are on it. */
export function paretoFront(
  points: readonly (readonly [number, number])[],
  { isHighX, isHighY }: Goal,
): number[] {
  const cost = (at: number): readonly [number, number] => {
    const [x, y] = points[at] ?? [Number.NaN, Number.NaN];
    return [isHighX ? -x : x, isHighY ? -y : y];
  };
  const order = [...points.keys()].sort((one, other) => {
    const [a, b] = [cost(one), cost(other)];
    return a[0] - b[0] || a[1] - b[1];
  });
  const front: number[] = [];
  let [lastX, least] = [Number.NaN, Infinity];
  for (const at of order) {
    const [x, y] = cost(at);
    const isEqual = x === lastX && y === least;
    if (y >= least && !isEqual) continue;
    front.push(at);
    [lastX, least] = [x, y];
  }
  return isHighX ? front.toReversed() : front;
}

/**
 * The steps of a Pareto front in pixels.
 *
 * Return the path through points by ascending x: its corners are on the side of the worse values.
 */
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
