/** The position on an x axis as text. */
import { formatCount, formatTick } from "./number";
import { formatDuration } from "./time";

export type Unit = "step" | "epoch" | "samples" | "s" | "device-hours";

/** Return "step 12,480", "epoch 3.5", "12.8k samples", "after 2 h 5 min" or "1.25 device-hours". */
export function formatPosition(x: number, unit: Unit): string {
  switch (unit) {
    case "s":
      return `after ${formatDuration(x)}`;
    case "epoch":
      return `epoch ${Number(x.toPrecision(3))}`;
    case "step":
      return `step ${formatCount(Math.round(x))}`;
    case "samples":
      return `${formatTick(Math.round(x))} samples`;
    case "device-hours":
      return `${formatTick(Number(x.toPrecision(3)))} device-hours`;
  }
}

/** Return "at step 12,480", or "after 2 h 5 min". */
export function atPosition(x: number, unit: Unit): string {
  return unit === "s" ? formatPosition(x, unit) : `at ${formatPosition(x, unit)}`;
}
