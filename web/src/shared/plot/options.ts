/** A view as uPlot wants to hear it. */
import uPlot from "uplot";
import { tick } from "@/shared/format/number";
import type { View } from "./view";

const FONT = '12px "Plex", system-ui, sans-serif';
const AXIS_WIDTH = 52; // the same for all, so that charts above each other share their x axis

/** Options for `view`; `now` tells what is asked for at the time of drawing. */
export function optionsFor(
  view: View,
  now: () => View,
  size: { width: number; height: number },
): uPlot.Options {
  const sync: uPlot.Cursor.Sync | null = view.sync
    ? { key: view.sync, scales: ["x", null], setSeries: false }
    : null;
  return {
    ...size,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    focus: { alpha: 1 },
    cursor: {
      y: false,
      drag: { x: true, y: false, dist: 5 },
      points: { size: (_, index) => (view.lines[index - 1]?.behind ? 0 : 7), width: 0 },
      ...(view.seeks ? { focus: { prox: 30 } } : {}),
      ...(sync ? { sync } : {}),
    },
    scales: { x: xScale(now), y: yScale(view) },
    axes: [xAxis(), yAxis(now)],
    series: [{}, ...view.lines.map((_, index) => series(index, view, now))],
    bands: bands(view),
  };
}

function series(index: number, view: View, now: () => View): uPlot.Series {
  const line = view.lines[index];
  const color = () => now().lines[index]?.color ?? "transparent";
  return {
    label: line?.label ?? "",
    stroke: color,
    width: line?.behind ? 1 : 1.6,
    alpha: line?.behind ? 0.3 : 1,
    ...(line?.dash?.length ? { dash: line.dash } : {}),
    ...(line?.fill ? { fill: color, width: 0 } : {}),
    points: line?.dots
      ? { show: (u) => countOf(u, index + 1) < 40, size: 5, width: 0, fill: color }
      : { show: false },
  };
}

function countOf(plot: uPlot, series: number): number {
  let found = 0;
  for (const value of plot.data[series] ?? []) found += typeof value === "number" ? 1 : 0;
  return found;
}

/** Each layer of a stack is filled down to the layer before it. */
function bands(view: View): uPlot.Band[] {
  const filled = view.lines.flatMap((line, index) => (line.fill ? [index + 1] : []));
  return filled.slice(1).map((above, index) => ({ series: [above, filled[index] ?? 0] }));
}

/** All of x, from 0: charts above each other then agree, however often their series are measured. */
export function wholeX(view: View): [number, number] {
  return [0, Math.max(view.span ?? 0, view.sheet.x.at(-1) ?? 0) || 1];
}

function xScale(now: () => View): uPlot.Scale {
  return {
    time: false,
    range: (u, low, high) => {
      const [x] = u.data;
      const whole = x.length < 2 || (low === x[0] && high === x.at(-1));
      return whole ? wholeX(now()) : [low, high];
    },
  };
}

function yScale(view: View): uPlot.Scale {
  if (view.logarithmic) return logarithmicScale();
  const floor = { pad: 0.08, soft: 0, mode: view.lines.some((line) => line.fill) ? 1 : 3 } as const;
  const top = view.ceiling === undefined ? { pad: 0.08 } : { pad: 0.08, hard: view.ceiling };
  return {
    range: (_, low, high) => {
      // before the first value: an empty frame
      if (!Number.isFinite(low)) return [0, 1];
      return uPlot.rangeNum(low, high, { min: floor, max: { mode: 0, soft: 0, ...top } });
    },
  };
}

function logarithmicScale(): uPlot.Scale {
  return {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- a const enum of uPlot's typings alone
    distr: 3,
    range: (_, low, high) => (low > 0 ? [low / 1.12, high * 1.12] : [0.1, 1]),
  };
}

function xAxis(): uPlot.Axis {
  return { ...ink(), size: 28, gap: 6, space: 70, values: (_, steps) => steps.map(tick) };
}

function yAxis(now: () => View): uPlot.Axis {
  // on a logarithmic axis uPlot blanks the minor ones with null
  const values = (_: uPlot, at: (number | null)[]) =>
    at.map((value) => (value === null ? "" : now().tick(value)));
  return { ...ink(), size: AXIS_WIDTH, gap: 6, space: 34, values };
}

function ink(): uPlot.Axis {
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
