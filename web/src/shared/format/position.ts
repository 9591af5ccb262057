/** A place along a curve, in words. */
import { count } from "./number";

export type Unit = "step" | "epoch";

/** "step 12,480" or "epoch 3.5". */
export function placeText(x: number, unit: Unit): string {
  return unit === "epoch" ? `epoch ${Number(x.toPrecision(3))}` : `step ${count(x)}`;
}
