/** One uPlot that follows a changing view: new points without a flicker, emphasis without a rebuild. */
import uPlot from "uplot";
import { drawMarks } from "./marks";
import { optionsFor, token, wholeX } from "./options";
import type { Line, View } from "./view";

const FAR = -1000; // above the chart, near to no line

export class Chart {
  private plot: uPlot | null = null;
  private view: View | null = null;
  private index: number | null = null;
  private placing = false; // the crosshair is put, not pointed: it picks no line
  private readonly watcher: ResizeObserver;

  constructor(private readonly host: HTMLElement) {
    this.watcher = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.watcher.observe(host);
    // the axes are painted, so a font that arrives late must be painted anew
    void document.fonts.ready.then(() => this.plot?.redraw(false, true));
  }

  /** Show `view`; what is the same as before is left alone. */
  show(view: View): void {
    const before = this.view;
    this.view = view;
    if (!this.plot || !before || shape(before) !== shape(view)) this.build(view);
    else if (before.sheet !== view.sheet || before.span !== view.span) this.takeOver(view, before);
    this.emphasize(view);
  }

  /** Repaint with the colors of the theme. */
  repaint(): void {
    this.plot?.redraw(false, true);
  }

  /** Put the crosshair `by` points further; the other charts of the same name follow. */
  step(by: number): void {
    const x = this.view?.sheet.x ?? [];
    const from = this.index ?? x.length - 1;
    this.point(x[Math.min(Math.max(from + by, 0), x.length - 1)]);
  }

  /** Put the crosshair at step `at`; away with it when undefined. */
  point(at: number | undefined): void {
    this.placing = true;
    for (const plot of this.group()) {
      const left = at === undefined ? -10 : plot.valToPos(at, "x");
      plot.setCursor({ left, top: FAR });
    }
    this.placing = false;
  }

  /** Show all of x again. */
  unzoom(): void {
    for (const plot of this.group()) {
      const x = plot.data[0];
      // the ends of the data stand for all of x
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
    const options = optionsFor(view, () => this.view ?? view, this.size());
    options.hooks = {
      draw: [
        (plot) => {
          drawMarks(plot, this.view?.marks ?? [], token("--muted"));
        },
      ],
      setCursor: [
        (plot) => {
          this.noteIndex(
            plot.cursor.left === undefined || plot.cursor.left < 0 ? null : (plot.cursor.idx ?? null),
          );
        },
      ],
      setScale: [
        (plot, key) => {
          if (key === "x" && this.view) this.view.onZoom?.(isZoomed(plot, this.view));
        },
      ],
      setSeries: [
        (_, index) => {
          this.noteNear(index);
        },
      ],
    };
    this.plot = new uPlot(options, dataOf(view), this.host);
  }

  /** The charts that share a crosshair with this one, itself among them. */
  private group(): uPlot[] {
    if (this.view?.sync) return uPlot.sync(this.view.sync).plots;
    return this.plot ? [this.plot] : [];
  }

  private takeOver(view: View, before: View): void {
    const plot = this.plot;
    if (!plot) return;
    const { min, max } = plot.scales.x ?? {};
    const zoomed = isZoomed(plot, before);
    plot.setData(dataOf(view), !zoomed);
    // a reader who has zoomed in stays there; y follows what is in sight
    if (zoomed && min !== undefined && max !== undefined) plot.setScale("x", { min, max });
  }

  private emphasize(view: View): void {
    const plot = this.plot;
    if (!plot) return;
    let repaint = false;
    for (const [index, line] of view.lines.entries()) {
      const series = plot.series[index + 1];
      if (!series) continue;
      const hidden = view.hidden?.has(line.key) ?? false;
      if (series.show === hidden) plot.setSeries(index + 1, { show: !hidden });
      const [alpha, width] = weight(line, view);
      repaint ||= series.alpha !== alpha;
      Object.assign(series, { alpha, width });
    }
    if (repaint) plot.redraw(false, false);
  }

  private noteIndex(index: number | null): void {
    if (index === this.index) return;
    this.index = index;
    this.view?.onIndex?.(index);
  }

  private noteNear(index: number | null): void {
    if (this.view?.seeks && !this.placing)
      this.view.onNear?.(index ? (this.view.lines[index - 1]?.key ?? null) : null);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(this.host.clientWidth, 40), height: this.host.clientHeight };
  }
}

function isZoomed(plot: uPlot, view: View): boolean {
  const { min, max } = plot.scales.x ?? {};
  const [from, to] = wholeX(view);
  return min !== from || max !== to;
}

/** What cannot change without a new plot. */
function shape(view: View): string {
  const lines = view.lines.map((line) => [line.key, line.dash, line.fill, line.dots, line.behind]);
  return JSON.stringify([lines, view.logarithmic, view.ceiling, view.sync, view.seeks]);
}

function dataOf(view: View): uPlot.AlignedData {
  // a logarithm has no place for zero
  const ys = view.logarithmic
    ? view.sheet.ys.map((column) =>
        column.map((value) => (typeof value === "number" && value <= 0 ? null : value)),
      )
    : view.sheet.ys;
  return [view.sheet.x, ...ys];
}

function weight(line: Line, view: View): [alpha: number, width: number] {
  const plain = line.fill ? 0 : line.behind ? 1 : 1.6;
  if (!view.lit) return [line.behind ? 0.3 : 1, plain];
  return view.lit.has(line.key) ? [1, plain && 2.4] : [0.13, plain];
}
