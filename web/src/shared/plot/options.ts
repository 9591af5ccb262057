/** The options of uPlot for a view. */
import uPlot from "uplot";
import { formatTick } from "@/shared/format/number";
import { formatDuration } from "@/shared/format/time";
import { pathOf } from "./dense/lines";
import { nearestIndex } from "./hover";
import { bounded } from "./bounds";
import { hugeTicks, isHuge, paddedRange } from "./huge";
import type { Line, View } from "./view";

const FONT = '12px "Plex", system-ui, sans-serif';
// seconds between two ticks: round parts and multiples of minutes, hours and days
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const TIME_STEPS = [
  ...[0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100].map((count) => count * DAY),
];
const Y_SPACE = 34; // pixels between two ticks
const AXIS_WIDTH = 52; // the same in all charts, so that their x axes align

/** Return the options for `view`; `current` returns the view at the time of drawing. */
export function optionsFor(
  view: View,
  current: () => View,
  size: { width: number; height: number },
): uPlot.Options {
  const sync: uPlot.Cursor.Sync | null = view.sync
    ? { key: view.sync, scales: ["x", null], setSeries: false }
    : null;
  return {
    ...size,
    padding: [10, 22, 0, 0], // half of the widest last tick, "100k", is on the right of the axis
    legend: { show: false },
    focus: { alpha: 1 },
    cursor: {
      y: false,
      drag: { x: true, y: false, dist: 5 },
      points: {
        size: (_, index) => (view.lines[index - 1]?.behind ? 0 : 7),
        width: 0,
        one: view.selectsNearest ?? false, // a dot for each of 200 curves takes longer than a frame
      },
      dataIdx: (u, index, at) => (index ? nearestIndex(u.data[index] ?? [], at) : at),
      ...(view.selectsNearest ? { focus: { prox: 30 } } : {}),
      ...(sync ? { sync } : {}),
    },
    scales: { x: xScale(current), y: yScale(view, current) },
    axes: [xAxis(view.isTime ?? false), yAxis(view, current)],
    series: [{}, ...view.lines.map((line, index) => series(line, index, current))],
    bands: bands(view),
  };
}

function series(line: Line, index: number, current: () => View): uPlot.Series {
  const color = () => current().lines[index]?.color ?? "transparent";
  return {
    label: line.label,
    stroke: color,
    width: line.fill ? 0 : line.behind ? 1 : 1.6,
    alpha: line.behind ? 0.3 : 1,
    ...(line.dash?.length ? { dash: line.dash } : {}),
    ...(line.fill ? { fill: color } : { paths: pathOf }),
    points: line.dots
      ? { show: (u) => countOf(u, index + 1) < 40, size: 5, width: 0, fill: color }
      : { show: false },
  };
}

function countOf(plot: uPlot, series: number): number {
  let found = 0;
  for (const value of plot.data[series] ?? []) found += typeof value === "number" ? 1 : 0;
  return found;
}

/** Fill each layer of a stack down to the layer before. */
function bands(view: View): uPlot.Band[] {
  const filled = view.lines.flatMap((line, index) => (line.fill ? [index + 1] : []));
  return filled.slice(1).map((above, index) => ({ series: [above, filled[index] ?? 0] }));
}

/** Return the full range of x, from 0: charts agree although their series have different steps. */
export function fullX(view: View): [number, number] {
  return [0, Math.max(view.xMax ?? 0, view.aligned.x.at(-1) ?? 0) || 1];
}

function xScale(current: () => View): uPlot.Scale {
  return {
    time: false,
    range: (u, low, high) => {
      const [x] = u.data;
      const isFull = !x.length || (low === x[0] && high === x.at(-1)) || isOfOnePoint(x, low, high);
      return isFull ? fullX(current()) : [low, high];
    },
  };
}

const UPLOT_PAD = 0.1;

/** Return whether a range is the one that uPlot makes around a single point when it shows all of x. */
function isOfOnePoint(x: ArrayLike<number>, low: number, high: number): boolean {
  const only = x[0];
  if (only === undefined || x.length > 1) return false;
  const [from, to] = uPlot.rangeNum(only, only, UPLOT_PAD, true);
  return low === from && high === to;
}

function yScale(view: View, current: () => View): uPlot.Scale {
  if (view.logarithmic) return logarithmicScale();
  const floor = { pad: 0.08, soft: 0, mode: view.lines.some((line) => line.fill) ? 1 : 3 } as const;
  const top = view.ceiling === undefined ? { pad: 0.08 } : { pad: 0.08, hard: view.ceiling };
  return {
    range: (_, low, high) => {
      // no value yet: an empty frame
      if (!Number.isFinite(low)) return [0, 1];
      const [from, to] = within(current().yRange, low, high);
      return paddedRange(from, to, { min: floor, max: { mode: 0, soft: 0, ...top } });
    },
  };
}

/** Return the part of low to high that lies in the range of the view, or all of it where nothing does. */
function within(range: View["yRange"], low: number, high: number): [number, number] {
  const [from, to] = [Math.max(low, range?.low ?? low), Math.min(high, range?.high ?? high)];
  return from < to ? [from, to] : [low, high];
}

function logarithmicScale(): uPlot.Scale {
  return {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- uPlot declares a const enum in its types only
    distr: 3,
    range: (_, low, high) => (low > 0 ? bounded(low / 1.12, high * 1.12) : [0.1, 1]),
  };
}

function xAxis(isTime: boolean): uPlot.Axis {
  const axis = { ...axisStyle(), size: 28, gap: 6, space: 70 };
  if (!isTime) return { ...axis, values: (_, steps) => steps.map(formatTick) };
  const text = (seconds: number) => (seconds ? formatDuration(seconds) : "0");
  return { ...axis, space: 90, incrs: TIME_STEPS, values: (_, places) => places.map(text) };
}

function yAxis(view: View, current: () => View): uPlot.Axis {
  // uPlot passes null for the minor ticks of a logarithmic axis
  const values = (_: uPlot, at: (number | null)[]) =>
    at.map((value) => (value === null ? "" : current().tick(value)));
  const huge = isHuge(view.aligned.ys) ? hugeTicks(view.logarithmic ?? false, Y_SPACE) : {};
  return { ...axisStyle(), size: AXIS_WIDTH, gap: 6, space: Y_SPACE, values, ...huge };
}

function axisStyle(): uPlot.Axis {
  const line = () => token("--hairline");
  return {
    font: FONT,
    stroke: () => token("--muted"),
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    border: { show: false },
  };
}

export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
