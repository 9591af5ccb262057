/** The position on an x axis as text. */
import { formatCount } from "./number";

export type Unit = "step" | "epoch";

/** Return "step 12,480" or "epoch 3.5". */
export function formatPosition(x: number, unit: Unit): string {
  return unit === "epoch" ? `epoch ${Number(x.toPrecision(3))}` : `step ${formatCount(x)}`;
}
