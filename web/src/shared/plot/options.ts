/** The options of uPlot for a view. */
import uPlot from "uplot";
import { pathOf } from "./dense";
import { lastLabelWidth, xAxis, yAxis } from "./plotAxes";
import { fullX, type Line, type View } from "./view";
import { bounded, isFlat, paddedRange } from "./yRange";

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
    padding: [10, (plot) => lastLabelWidth(plot, current()) / 2, 0, 0], // a half of the last tick is right of the axis
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
    axes: [xAxis(current), yAxis(current)],
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
  const fromZero = view.lines.some((line) => line.fill);
  return {
    range: (_, low, high) => {
      // no value yet: an empty frame
      if (!Number.isFinite(low)) return [0, 1];
      const [from, to] = within(current().yRange, low, high);
      return paddedRange(from, to, { fromZero, ceiling: view.ceiling });
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
    range: (_, low, high) => {
      if (!(low > 0)) return [0.1, 1];
      return isFlat(low, high) ? bounded(low / 2, high * 2) : bounded(low / 1.12, high * 1.12);
    },
  };
}

type Values = uPlot.AlignedData[number];

const ends = new WeakMap<Values, [first: number, last: number]>();

/** Return the index of a curve's point nearest to `index`; null before its first and after its last point. */
export function nearestIndex(values: Values, index: number): number | null {
  const [first, last] = endsOf(values);
  if (index < first || index > last) return null;
  // between its ends a curve has points on both sides
  let [left, right] = [index, index];
  while (values[left] === undefined) left -= 1;
  while (values[right] === undefined) right += 1;
  return index - left <= right - index ? left : right;
}

/** Return the indices of the first and the last point; once for each column, since a pointer moves often. */
function endsOf(values: Values): [number, number] {
  const known = ends.get(values);
  if (known) return known;
  let [first, last] = [0, values.length - 1];
  while (first <= last && values[first] === undefined) first += 1;
  while (last > first && values[last] === undefined) last -= 1;
  const found: [number, number] = [first, last];
  ends.set(values, found);
  return found;
}
