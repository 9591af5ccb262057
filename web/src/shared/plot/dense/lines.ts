/** Dense lines of a uPlot: its path builder leaves them out, and they are drawn together as one picture. */
import uPlot from "uplot";
import { type Columns, columnsOf } from "./columns";
import { pixelOf, pixelsOf } from "./image";

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
