/** The axes of uPlot with ticks of our own: its own ones repeat without an end where the numbers have no more digits. */
import type uPlot from "uplot";
import { formatTick } from "@/shared/format/number";
import { tickTexts, widthOf } from "@/shared/format/ticks";
import { formatDuration } from "@/shared/format/time";
import { logTicks } from "@/shared/frame/axis";
import { token } from "@/shared/theme/theme";
import { roundTicks } from "./scales";
import type { View } from "./view";

const FONT = '12px "Plex", system-ui, sans-serif';
// seconds between two ticks: round parts and multiples of minutes, hours and days
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const TIME_STEPS = [
  ...[0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100].map((count) => count * DAY),
];
const X_SPACE = 70; // pixels between two ticks, at least
const TIME_SPACE = 90;
const BETWEEN = 14; // pixels between the texts of two ticks
const Y_SPACE = 34;
const AXIS_WIDTH = 52; // the same in all charts, so that their x axes align; wider for long numbers
const GAP = 6; // between an axis and its texts
const LAST_WIDTH = 44; // of the last text of x: "100k", and room for the next one of a growing run

export function xAxis(current: () => View): uPlot.Axis {
  return {
    ...style(),
    size: 28,
    splits: ({ width }, _, low, high) => xTicks(low, high, width, current()),
    values: (_, ticks) => xTexts(ticks, current()),
  };
}

export function yAxis(current: () => View): uPlot.Axis {
  return {
    ...style(),
    // uPlot has no texts before its first drawing
    size: (_, texts: string[] | null) => Math.max(AXIS_WIDTH, widthOf(texts ?? []) + 2 * GAP),
    splits: ({ height }, _, low, high) => yTicks(low, high, height, current()),
    values: (_, ticks) => tickTexts(ticks, current().tick),
  };
}

/** Return the width of the last text of the x axis. */
export function lastLabelWidth({ width, scales: { x } }: uPlot, view: View): number {
  const { min, max } = x ?? {};
  if (typeof min !== "number" || typeof max !== "number") return LAST_WIDTH;
  return Math.max(LAST_WIDTH, widthOf(xTexts(xTicks(min, max, width, view), view).slice(-1)));
}

/** Return ticks whose texts fit side by side. */
export function xTicks(low: number, high: number, width: number, view: View): number[] {
  const ticksOf = (space: number) => {
    const count = Math.max(1, Math.floor((width - AXIS_WIDTH) / space));
    return view.isTime ? timeTicks(low, high, count) : roundTicks(low, high, count, view.isCounted);
  };
  const least = view.isTime ? TIME_SPACE : X_SPACE;
  const ticks = ticksOf(least);
  const needed = widthOf(xTexts(ticks, view)) + BETWEEN;
  return needed > least ? ticksOf(needed) : ticks;
}

export function xTexts(ticks: readonly number[], { isTime }: View): string[] {
  return tickTexts(ticks, isTime ? (seconds) => (seconds ? formatDuration(seconds) : "0") : formatTick);
}

export function yTicks(low: number, high: number, height: number, { logarithmic = false }: View): number[] {
  const count = Math.max(2, Math.floor(height / Y_SPACE));
  return logarithmic ? logTicks(low, high, count) : roundTicks(low, high, count);
}

function timeTicks(low: number, high: number, count: number): number[] {
  const step = TIME_STEPS.find((one) => one * count >= high - low);
  if (step === undefined) return roundTicks(low / DAY, high / DAY, count).map((days) => days * DAY);
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}

function style(): uPlot.Axis {
  const line = () => token("--hairline");
  return {
    font: FONT,
    gap: GAP,
    stroke: () => token("--muted"),
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    border: { show: false },
    // uPlot shows an axis only if one of these increments has room; an own increment of 5 or more always has
    incrs: (_, __, low, high) => [Math.max(5, high - low)],
    filter: (_, ticks) => ticks,
  };
}
