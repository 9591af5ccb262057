/** Marks in a chart: lines where a run resumed, short ticks if there are many; signs where a value is NaN or infinite. */
import uPlot from "uplot";
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
