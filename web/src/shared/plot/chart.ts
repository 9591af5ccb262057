/** A uPlot that follows a changing view: new points without flicker, highlights without a rebuild. */
import uPlot from "uplot";
import type { StepRange } from "@/shared/curves/view";
import { drawHighlight } from "./highlight";
import { drawMarks, drawNotFinite } from "./marks";
import { fullX, optionsFor, token } from "./options";
import type { View } from "./view";

const FAR = -1000; // above the chart, far from all lines

export class Chart {
  private plot: uPlot | null = null;
  private view: View | null = null;
  private index: number | null = null;
  private drawn: View["highlighted"] = null; // the highlight on the canvas
  private range: StepRange = null;
  private moving = false; // the code moves the crosshair, not the pointer: no line is selected
  private readonly watcher: ResizeObserver;

  constructor(private readonly host: HTMLElement) {
    this.watcher = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.watcher.observe(host);
    // The canvas does not repaint by itself after the font has loaded.
    void document.fonts.ready.then(() => this.plot?.redraw(false, true));
  }

  /** Show `view`; update only the parts that changed. */
  show(view: View): void {
    const before = this.view;
    this.view = view;
    if (!this.plot || !before || shape(before) !== shape(view)) this.build(view);
    else if (hasNewRange(before, view)) this.updateData(view, before);
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

  destroy(): void {
    this.watcher.disconnect();
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
          this.drawHighlight(plot);
          if (this.view?.notFinite) drawNotFinite(plot, this.view);
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
        (plot, key) => {
          if (key === "x") this.reportRange(plot);
        },
      ],
      setSeries: [
        (_, index) => {
          this.reportNearest(index);
        },
      ],
    };
    this.plot = new uPlot(options, dataOf(view), this.host);
  }

  /** Return the charts that share the crosshair, including this one. */
  private group(): uPlot[] {
    if (this.view?.sync) return uPlot.sync(this.view.sync).plots;
    return this.plot ? [this.plot] : [];
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

  private reportIndex(index: number | null): void {
    if (index === this.index) return;
    this.index = index;
    this.view?.onIndex?.(index);
  }

  private reportRange(plot: uPlot): void {
    const { min, max } = plot.scales.x ?? {};
    if (!this.view || min === undefined || max === undefined) return;
    const range: StepRange = isZoomed(plot, this.view) ? [min, max] : null;
    if (String(range) === String(this.range)) return;
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

function isZoomed(plot: uPlot, view: View): boolean {
  const { min, max } = plot.scales.x ?? {};
  const [from, to] = fullX(view);
  return min !== from || max !== to;
}

/** Return whether a view has other points or another range than the view before. */
function hasNewRange(before: View, view: View): boolean {
  return before.aligned !== view.aligned || before.xMax !== view.xMax || before.yRange !== view.yRange;
}

/** Return the parts of a view that need a new uPlot when they change. */
function shape(view: View): string {
  const lines = view.lines.map((line) => [line.key, line.dash, line.fill, line.dots, line.behind]);
  return JSON.stringify([lines, view.logarithmic, view.ceiling, view.sync, view.selectsNearest]);
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
