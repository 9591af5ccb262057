/** Dashed vertical lines in a chart, at the steps where a run resumed. */
import uPlot from "uplot";

export function drawMarks(plot: uPlot, steps: readonly number[], color: string): void {
  const { left, top, width, height } = plot.bbox;
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const step of steps) {
    const x = Math.round(plot.valToPos(step, "x", true));
    if (x < left || x > left + width) continue;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
  }
  ctx.restore();
}
