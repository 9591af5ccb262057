/** Dashed vertical lines in a chart, at the steps where a run resumed; many of them are short ticks on the x axis. */
import uPlot from "uplot";

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
