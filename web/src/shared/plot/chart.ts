/** A uPlot that follows a changing view: new points without flicker, highlights without a rebuild. */
import uPlot from "uplot";
import type { StepRange } from "@/shared/curves/view";
import { token } from "@/shared/theme/theme";
import type { Shown } from "./chartPicture";
import { drawDense, isDense, type LineStyle } from "./dense";
import { drawHighlight } from "./highlight";
import { drawMarks, drawNotFinite, drawRestarts } from "./marks";
import { fullX, type View } from "./view";
import { optionsFor } from "./options";
import { listenForMoves, moved, type Range, rounded, scaled, settled } from "./zoom";

const FAR = -1000; // above the chart, far from all lines
const SETTLED_MS = 150; // after the last one of several changes of the range, finer curves are asked for

export class Chart {
  private plot: uPlot | null = null;
  private view: View | null = null;
  private index: number | null = null;
  private range: StepRange = null; // as reported
  private followed: StepRange = null; // the range that the page asked for last
  private drawn: View["highlighted"] = null; // the highlight on the canvas
  private waiting: LineStyle[] = []; // dense lines that are drawn together
  private moving = false; // the code moves the crosshair, not the pointer: no line is selected
  private readonly watcher: ResizeObserver;
  private readonly endMoves: () => void;
  private readonly reportRange = settled(() => {
    this.reportRangeNow();
  }, SETTLED_MS);

  constructor(private readonly host: HTMLElement) {
    this.watcher = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.watcher.observe(host);
    this.endMoves = listenForMoves(
      host,
      () => this.range !== null,
      (share) => {
        this.pan(share);
      },
    );
    // The canvas does not repaint by itself after the font has loaded.
    void document.fonts.ready.then(() => this.plot?.redraw(false, true));
  }

  /** Show `view`; update only the parts that changed. */
  show(view: View): void {
    const before = this.view;
    this.view = view;
    if (!this.plot || !before || shape(before) !== shape(view)) this.build(view);
    else if (hasNewRange(before, view)) this.updateData(view, before);
    this.follow(view);
    this.highlight(view);
  }

  /** Repaint with the colors of the theme. */
  repaint(): void {
    this.plot?.redraw(false, true);
  }

  /** Move the crosshair by `by` points; the charts with the same sync name follow. */
  step(by: number): void {
    const x = this.view?.aligned.x ?? [];
    const from = this.index ?? x.length - 1;
    this.moveTo(x[Math.min(Math.max(from + by, 0), x.length - 1)]);
  }

  /** Move the crosshair to `at`; remove the crosshair when `at` is undefined. */
  moveTo(at: number | undefined): void {
    this.moving = true;
    for (const plot of this.group()) {
      const left = at === undefined ? -10 : plot.valToPos(at, "x");
      plot.setCursor({ left, top: FAR });
    }
    this.moving = false;
  }

  /** Show the full range of x again. */
  unzoom(): void {
    for (const plot of this.group()) {
      const x = plot.data[0];
      // uPlot's range function maps the ends of the data to the full range
      plot.setScale("x", { min: x[0] ?? 0, max: x.at(-1) ?? 1 });
    }
  }

  /** Move a zoomed range of x by a share of its width. */
  pan(share: number): void {
    const shown = this.shownRange();
    if (shown) this.setRange(moved(shown, this.fullRange(), share));
  }

  /** Make the range of x wider by a factor, narrower below 1, around the crosshair or the middle. */
  zoom(factor: number): void {
    const shown = this.shownRange();
    if (!shown) return;
    const full = this.fullRange();
    const at = this.index === null ? undefined : this.view?.aligned.x[this.index];
    const range = scaled(shown, full, factor, at ?? (shown[0] + shown[1]) / 2);
    if (range[0] === full[0] && range[1] === full[1]) this.unzoom();
    else this.setRange(range);
  }

  /** Return the ranges that the chart shows now; null before it has any. */
  shown(): Shown | null {
    const x = this.shownRange();
    const { min, max } = this.plot?.scales.y ?? {};
    return x && typeof min === "number" && typeof max === "number" ? { x, y: [min, max] } : null;
  }

  destroy(): void {
    this.watcher.disconnect();
    this.endMoves();
    this.plot?.destroy();
    this.plot = null;
  }

  private build(view: View): void {
    this.plot?.destroy();
    this.drawn = null;
    const options = optionsFor(view, () => this.view ?? view, this.size());
    options.hooks = {
      draw: [
        (plot) => {
          drawMarks(plot, this.view?.marks ?? [], token("--muted"));
          if (this.view?.notFinite) drawNotFinite(plot, this.view);
          if (this.view?.restarts) drawRestarts(plot, this.view, token("--surface"));
          this.drawHighlight(plot);
        },
      ],
      drawSeries: [
        (plot, series) => {
          this.drawWaiting(plot, series);
        },
      ],
      setCursor: [
        (plot) => {
          this.reportIndex(
            plot.cursor.left === undefined || plot.cursor.left < 0 ? null : (plot.cursor.idx ?? null),
          );
        },
      ],
      setScale: [
        (_, key) => {
          if (key === "x") this.reportRange();
        },
      ],
      setSeries: [
        (_, index) => {
          this.reportNearest(index);
        },
      ],
    };
    this.plot = new uPlot(options, dataOf(view), this.host);
    // a chart that is built again, for another scale of y, has the same range of x
    if (this.range) this.plot.setScale("x", { min: this.range[0], max: this.range[1] });
  }

  /** Show the range that the page asks for, once there are points: a link or the back button has another one. */
  private follow({ range = null, aligned }: View): void {
    const plot = this.plot;
    if (!plot || !aligned.x.length || isSame(range, this.followed)) return;
    this.followed = range;
    if (isSame(range, this.range)) return;
    // uPlot's range function maps the ends of the data to the full range
    const [min, max] = range ?? [aligned.x[0] ?? 0, aligned.x.at(-1) ?? 1];
    plot.setScale("x", { min, max });
  }

  /** Return the charts that share the crosshair, including this one. */
  private group(): uPlot[] {
    if (this.view?.sync) return uPlot.sync(this.view.sync).plots;
    return this.plot ? [this.plot] : [];
  }

  private shownRange(): Range | null {
    const { min, max } = this.plot?.scales.x ?? {};
    return typeof min === "number" && typeof max === "number" ? [min, max] : null;
  }

  private fullRange(): Range {
    return this.view ? fullX(this.view) : [0, 1];
  }

  private setRange([min, max]: Range): void {
    if (max > min) for (const plot of this.group()) plot.setScale("x", { min, max });
  }

  private updateData(view: View, before: View): void {
    const plot = this.plot;
    if (!plot) return;
    const { min, max } = plot.scales.x ?? {};
    const zoomed = isZoomed(plot, before);
    plot.setData(dataOf(view), !zoomed);
    // A zoomed chart retains its range of x; y follows the visible points.
    if (zoomed && min !== undefined && max !== undefined) plot.setScale("x", { min, max });
  }

  private highlight(view: View): void {
    const plot = this.plot;
    if (!plot) return;
    for (const [index, line] of view.lines.entries()) {
      const series = plot.series[index + 1];
      const hidden = view.hidden?.has(line.key) ?? false;
      if (series && series.show === hidden) plot.setSeries(index + 1, { show: !hidden });
    }
    if (view.highlighted !== this.drawn) this.drawHighlight(plot);
  }

  /** Draw the highlighted lines above the others, without a repaint of those. */
  private drawHighlight(plot: uPlot): void {
    const view = this.view;
    const wanted = view?.highlighted ?? null;
    const lines = (view?.lines ?? []).flatMap(({ key, color, dash = [], fill }, index) =>
      wanted?.has(key) && !fill && !view?.hidden?.has(key) ? [{ series: index + 1, color, dash }] : [],
    );
    if (wanted || this.drawn) drawHighlight(plot, wanted && lines, token("--surface"));
    this.drawn = wanted;
  }

  /** Draw the dense lines that wait, once the next line is another kind of line: each is above those before it. */
  private drawWaiting(plot: uPlot, series: number): void {
    const style = this.styleOf(plot, series);
    if (!style || !isDense(plot, series)) return;
    this.waiting.push(style);
    const next = plot.series.findIndex(({ show }, index) => index > series && show);
    const following = next > 0 && isDense(plot, next) ? this.styleOf(plot, next) : null;
    if (following?.alpha === style.alpha) return;
    drawDense(plot, plot.ctx, this.waiting);
    this.waiting = [];
  }

  private styleOf(plot: uPlot, series: number): LineStyle | null {
    const line = this.view?.lines[series - 1];
    const { width = 1, alpha = 1 } = plot.series[series] ?? {};
    return line ? { series, color: line.color, width, alpha, dash: line.dash ?? [] } : null;
  }

  private reportIndex(index: number | null): void {
    if (index === this.index) return;
    this.index = index;
    this.view?.onIndex?.(index);
  }

  private reportRangeNow(): void {
    const shown = this.shownRange();
    if (!this.plot || !this.view || !shown) return;
    const range: StepRange = isZoomed(this.plot, this.view) ? rounded(shown) : null;
    if (isSame(range, this.range)) return;
    this.range = range;
    this.view.onRange?.(range);
  }

  private reportNearest(index: number | null): void {
    if (this.view?.selectsNearest && !this.moving)
      this.view.onSelect?.(index ? (this.view.lines[index - 1]?.key ?? null) : null);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(this.host.clientWidth, 40), height: this.host.clientHeight };
  }
}

function isSame(one: StepRange, other: StepRange): boolean {
  return String(one) === String(other);
}

function isZoomed(plot: uPlot, view: View): boolean {
  const { min, max } = plot.scales.x ?? {};
  const [from, to] = fullX(view);
  return min !== from || max !== to;
}

/** Return whether a view has other points or another range than the view before. */
function hasNewRange(before: View, view: View): boolean {
  return (
    before.aligned !== view.aligned || !isSame(fullX(before), fullX(view)) || before.yRange !== view.yRange
  );
}

/** Return the parts of a view that need a new uPlot when they change. */
function shape(view: View): string {
  const lines = view.lines.map((line) => [line.key, line.dash, line.fill, line.dots, line.behind]);
  const axes = [view.logarithmic, view.ceiling];
  return JSON.stringify([lines, axes, view.sync, view.selectsNearest]);
}

function dataOf(view: View): uPlot.AlignedData {
  // zero and negative values have no logarithm
  const ys = view.logarithmic
    ? view.aligned.ys.map((column) =>
        column.map((value) => (typeof value === "number" && value <= 0 ? null : value)),
      )
    : view.aligned.ys;
  return [view.aligned.x, ...ys];
}
