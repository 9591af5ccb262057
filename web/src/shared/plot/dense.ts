/** Dense lines of a uPlot: its path builder leaves them out, and they are drawn together as one picture. */
import uPlot from "uplot";

const LOGARITHMIC = 3; // uPlot's number of the distribution
// heights of the plot by which a line goes up and down, from which on it is dense: the more lines, the fewer of them
const LEAST_TRAVEL = 20;
const MOST_STROKED = 400;
const found = new WeakMap<uPlot, Map<number, Columns>>(); // of each plot, by the index of the series

/** Build the path of a line; of a dense one, which goes up and down often, note the columns instead. */
export const pathOf: uPlot.Series.PathBuilder = (plot, index, from, to) => {
  const columns = denseColumns(plot, index, from, to);
  const dense = found.get(plot) ?? new Map<number, Columns>();
  found.set(plot, dense);
  if (!columns) {
    dense.delete(index);
    return uPlot.paths.linear?.()(plot, index, from, to) ?? null;
  }
  dense.set(index, columns);
  return { stroke: null, fill: null, clip: null, band: null, flags: 0 };
};

/** How a line is drawn. */
export interface LineStyle {
  series: number; // its index in the plot
  color: string;
  width: number; // in CSS pixels
  dash: readonly number[]; // in CSS pixels
  alpha: number;
}

/** Return whether a line of the plot is dense. */
export function isDense(plot: uPlot, series: number): boolean {
  return found.get(plot)?.has(series) ?? false;
}

/** Draw dense lines as one picture, in their order, into a canvas of the plot's size. Their alpha is that of the first. */
export function drawDense(plot: uPlot, ctx: CanvasRenderingContext2D, styles: readonly LineStyle[]): void {
  const { left, top, width, height } = plot.bbox;
  const [across, down] = [Math.ceil(width), Math.ceil(height)];
  const lines = styles.flatMap(({ series, color, width, dash }) => {
    const columns = found.get(plot)?.get(series);
    const pixels = (length: number) => length * devicePixelRatio;
    return columns ? [{ columns, color: pixelOf(color), width: pixels(width), dash: dash.map(pixels) }] : [];
  });
  if (!lines.length || across <= 0 || down <= 0) return;
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [across, down];
  const pixels = pixelsOf(lines, across, down);
  const data = new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), across, down);
  picture.getContext("2d")?.putImageData(data, 0, 0);
  ctx.save();
  ctx.globalAlpha = styles[0]?.alpha ?? 1;
  ctx.drawImage(picture, left, top); // over the grid, which stays visible between the lines
  ctx.restore();
}

/** Return the columns of a line that goes up and down so often that its strokes would take long. */
function denseColumns(plot: uPlot, index: number, from: number, to: number): Columns | null {
  const [xs, values] = [plot.data[0], plot.data[index]];
  const { left, top, width, height } = plot.bbox;
  if (!values) return null;
  const travel = height * Math.max(LEAST_TRAVEL, MOST_STROKED / plot.series.length);
  const place = {
    width: Math.ceil(width),
    height,
    toX: positionsOf(plot, "x", left),
    toY: positionsOf(plot, "y", top),
  };
  return columnsOf(xs, values, [from, to], place, travel);
}

/** Return where a scale has its values, in pixels from a start, without uPlot's cost for each of them. */
function positionsOf(plot: uPlot, key: "x" | "y", start: number): (value: number) => number {
  const scale = plot.scales[key];
  const [min, max] = [scale?.min ?? 0, scale?.max ?? 1];
  const isLog = Number(scale?.distr) === LOGARITHMIC;
  const of = isLog ? Math.log10 : (value: number) => value;
  const [low, high] = [plot.valToPos(min, key, true), plot.valToPos(max, key, true)];
  const factor = (high - low) / (of(max) - of(min));
  const offset = low - factor * of(min) - start;
  return isLog ? (value) => offset + factor * Math.log10(value) : (value) => offset + factor * value;
}

export interface DenseLine {
  columns: Columns;
  color: number; // a pixel, as in an ImageData
  width: number; // in pixels
  dash: readonly number[]; // in pixels: drawn, left out, drawn, ...; none: all is drawn
}

/** Return the picture's pixels, row by row; a later line covers an earlier one. */
export function pixelsOf(lines: readonly DenseLine[], width: number, height: number): Uint32Array {
  const byColumn = new Uint32Array(width * height);
  for (const { columns, color, width: thickness, dash } of lines) {
    const { low, high } = columns;
    const isDrawn = dashing(dash);
    for (let column = 0; column < width; column += 1) {
      const least = low[column] ?? NaN;
      if (Number.isNaN(least) || !isDrawn(column)) continue;
      const start = Math.max(0, Math.round(least - thickness / 2));
      const end = Math.min(height, Math.max(start + 1, Math.round((high[column] ?? least) + thickness / 2)));
      if (start < end) byColumn.fill(color, column * height + start, column * height + end);
    }
  }
  return transposed(byColumn, width, height);
}

/** Return whether a column is in a part of the dashes that is drawn. */
function dashing(dash: readonly number[]): (column: number) => boolean {
  const parts = dash.length % 2 ? [...dash, ...dash] : dash;
  const period = parts.reduce((sum, part) => sum + part, 0);
  if (!period) return () => true;
  return (column) => {
    let place = column % period;
    const at = parts.findIndex((part) => (place -= part) < 0);
    return at % 2 === 0;
  };
}

/** Return the pixels row by row. A column is one stretch of memory, so that lines are written quickly. */
function transposed(byColumn: Uint32Array, width: number, height: number): Uint32Array {
  const pixels = new Uint32Array(width * height);
  for (let column = 0; column < width; column += 1) {
    const first = column * height;
    for (let row = 0; row < height; row += 1) pixels[row * width + column] = byColumn[first + row] ?? 0;
  }
  return pixels;
}

const known = new Map<string, number>();

/** Return a color of CSS as a pixel. */
function pixelOf(color: string): number {
  const found = known.get(color);
  if (found !== undefined) return found;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const ctx = canvas.getContext("2d");
  if (!ctx) return 0;
  ctx.fillStyle = color;
  ctx.fillRect(0, 0, 1, 1);
  const pixel = new Uint32Array(ctx.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
  known.set(color, pixel);
  return pixel;
}

/** The least and the greatest y of each column; NaN where the line has none. */
interface Columns {
  low: Float32Array;
  high: Float32Array;
}

/** Where x and y are on a picture of this many pixels. */
export interface Place {
  width: number;
  height: number;
  toX: (value: number) => number;
  toY: (value: number) => number;
}

interface Point {
  x: number;
  y: number;
}

const GAP: Point = { x: NaN, y: NaN };

/**
 * Return the columns of a line through the values of a range of indices; null if it goes up and down by less than
 * `travel` pixels of the picture in all. `undefined` is no value, `null` is a gap.
 */
export function columnsOf(
  xs: ArrayLike<number>,
  values: ArrayLike<number | null | undefined>,
  [from, to]: readonly [number, number],
  { width, height, toX, toY }: Place,
  travel: number,
): Columns | null {
  if (width <= 0 || height <= 0) return null;
  const empty = () => new Float32Array(width).fill(NaN);
  const found: Columns = { low: empty(), high: empty() };
  let [sum, before] = [0, GAP];
  for (let at = from; at <= to; at += 1) {
    const value = values[at];
    if (value === undefined) continue;
    const point = value === null ? GAP : { x: toX(xs[at] ?? 0), y: toY(value) };
    if (point !== GAP) cover(found, before === GAP ? point : before, point);
    sum += travelled(before, point, height);
    before = point;
  }
  return sum < travel ? null : found;
}

/** Return the pixels of the picture by which a part of a line goes up or down; 0 at a gap. */
function travelled(from: Point, to: Point, height: number): number {
  const inside = (y: number) => Math.min(Math.max(y, 0), height);
  return from === GAP || to === GAP ? 0 : Math.abs(inside(to.y) - inside(from.y));
}

/** Cover the columns of a part of a line, from left to right. */
function cover(found: Columns, { x, y }: Point, { x: newX, y: newY }: Point): void {
  const [first, last] = [Math.floor(x), Math.floor(newX)];
  widen(found, first, y);
  if (last > first) {
    const slope = (newY - y) / (newX - x);
    const end = Math.min(last, found.low.length);
    for (let column = Math.max(first + 1, 0); column <= end; column += 1) {
      const edge = y + slope * (column - x); // where the line enters the column
      widen(found, column - 1, edge);
      widen(found, column, edge);
    }
  }
  widen(found, last, newY);
}

function widen({ low, high }: Columns, column: number, y: number): void {
  if (column < 0 || column >= low.length) return;
  const [least, greatest] = [low[column] ?? NaN, high[column] ?? NaN];
  if (!(least <= y)) low[column] = y;
  if (!(greatest >= y)) high[column] = y;
}
