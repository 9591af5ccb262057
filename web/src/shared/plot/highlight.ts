/** The highlighted lines of a chart, on a canvas above the chart: a pointer that moves repaints a few lines, not all. */
import type uPlot from "uplot";
import { drawDense, isDense } from "./dense";

const VEIL = 0.85; // of the surface's color, over the other lines
const WIDTH = 2.4; // of a highlighted line, in CSS pixels

export interface HighlightedLine {
  series: number; // its index in the plot
  color: string;
  dash: number[];
}

/** Draw the lines above the plot; `null` removes the layer. */
export function drawHighlight(plot: uPlot, lines: HighlightedLine[] | null, surface: string): void {
  const canvas = layerOf(plot);
  const { width, height } = plot.ctx.canvas;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.clearRect(0, 0, width, height);
  if (!lines) return;
  const { left, top, width: across, height: down } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, across, down);
  ctx.clip();
  ctx.globalAlpha = VEIL;
  ctx.fillStyle = surface;
  ctx.fillRect(left, top, across, down);
  ctx.globalAlpha = 1;
  ctx.lineJoin = "round";
  const dense = lines.filter(({ series }) => isDense(plot, series));
  const styles = dense.map((line) => ({ ...line, width: WIDTH, alpha: 1 }));
  drawDense(plot, ctx, styles);
  for (const line of lines) if (!dense.includes(line)) stroke(ctx, plot, line);
  ctx.restore();
}

function stroke(ctx: CanvasRenderingContext2D, plot: uPlot, { series, color, dash }: HighlightedLine): void {
  const [x, values] = [plot.data[0], plot.data[series]];
  const [from, to] = plot.series[0]?.idxs ?? [0, x.length - 1];
  if (!values) return;
  ctx.beginPath();
  let isOpen = false; // a gap ends a line
  for (let index = Math.max(0, from - 1); index <= Math.min(x.length - 1, to + 1); index += 1) {
    const value = values[index];
    if (value === undefined) continue;
    if (value === null) {
      isOpen = false;
      continue;
    }
    const [px, py] = [plot.valToPos(x[index] ?? 0, "x", true), plot.valToPos(value, "y", true)];
    if (isOpen) ctx.lineTo(px, py);
    else ctx.moveTo(px, py);
    isOpen = true;
  }
  ctx.strokeStyle = color;
  ctx.lineWidth = WIDTH * devicePixelRatio;
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
  ctx.stroke();
}

const layers = new WeakMap<uPlot, HTMLCanvasElement>();

/** Return the canvas above the plot; it goes with the plot's own elements. */
function layerOf(plot: uPlot): HTMLCanvasElement {
  const known = layers.get(plot);
  if (known) return known;
  const canvas = document.createElement("canvas");
  Object.assign(canvas.style, { position: "absolute", inset: "0", width: "100%", height: "100%" });
  canvas.style.pointerEvents = "none";
  plot.ctx.canvas.after(canvas);
  layers.set(plot, canvas);
  return canvas;
}
