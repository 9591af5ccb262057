/** Marks in a chart: lines or rings where a run resumed; signs where a value is NaN or infinite. */
import uPlot from "uplot";
import { valueAt } from "@/shared/curves/column";
import type { NotFinite } from "@/shared/curves/curve";
import type { View } from "./view";

const SIGN = 4; // half the size of a sign, in CSS pixels

const MOST_LINES = 20; // more of them would hide the curves
const TICK = 7; // CSS pixels

export function drawMarks(plot: uPlot, steps: readonly number[], color: string): void {
  const { left, top, width, height } = plot.bbox;
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  const isMany = steps.length > MOST_LINES;
  const from = isMany ? top + height - TICK * devicePixelRatio : top;
  ctx.setLineDash(isMany ? [] : [4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const step of steps) {
    const x = Math.round(plot.valToPos(step, "x", true));
    if (x < left || x > left + width) continue;
    ctx.beginPath();
    ctx.moveTo(x, from);
    ctx.lineTo(x, top + height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Draw a triangle at the upper edge for infinity, at the lower edge for minus infinity, a cross there for NaN. */
export function drawNotFinite(plot: uPlot, { lines, notFinite = [], hidden }: View): void {
  const { left, width } = plot.bbox;
  const { ctx } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  for (const [at, line] of lines.entries()) {
    ctx.strokeStyle = ctx.fillStyle = line.color;
    let before = -Infinity;
    for (const { step, kind } of hidden?.has(line.key) ? [] : (notFinite[at] ?? [])) {
      const x = Math.round(plot.valToPos(step, "x", true));
      if (x < left || x > left + width || x === before) continue; // a diverged run has one at every step
      drawSign(plot, x, kind);
      before = x;
    }
  }
  ctx.restore();
}

function drawSign({ ctx, bbox: { top, height } }: uPlot, x: number, kind: NotFinite["kind"]): void {
  const size = SIGN * devicePixelRatio;
  const isUpper = kind === "infinity";
  const [edge, inner] = isUpper ? [top, top + 2 * size] : [top + height, top + height - 2 * size];
  ctx.beginPath();
  ctx.moveTo(x - size, kind === "nan" ? edge : inner);
  ctx.lineTo(x + size, inner);
  if (kind === "nan") {
    ctx.moveTo(x - size, inner);
    ctx.lineTo(x + size, edge);
    ctx.stroke();
    return;
  }
  ctx.lineTo(x, edge);
  ctx.closePath();
  ctx.fill();
}

const RING = 3.5; // the radius of a ring, in CSS pixels

/** Draw a ring on each line where its run resumed. */
export function drawRestarts(
  plot: uPlot,
  { lines, restarts = [], aligned, hidden }: View,
  surface: string,
): void {
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = surface;
  ctx.lineWidth = 1.6 * devicePixelRatio;
  for (const [at, line] of lines.entries()) {
    ctx.strokeStyle = line.color;
    const places = hidden?.has(line.key) ? [] : (restarts[at] ?? []);
    for (const place of places) drawRing(plot, place, valueAt(aligned.x, aligned.ys[at] ?? [], place));
  }
  ctx.restore();
}

function drawRing(plot: uPlot, place: number, value: number | null): void {
  const { left, width } = plot.bbox;
  const x = plot.valToPos(place, "x", true);
  if (value === null || x < left || x > left + width) return;
  plot.ctx.beginPath();
  plot.ctx.arc(x, plot.valToPos(value, "y", true), RING * devicePixelRatio, 0, 2 * Math.PI);
  plot.ctx.fill();
  plot.ctx.stroke();
}
