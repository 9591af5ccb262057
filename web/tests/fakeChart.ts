/** Charts as the tests see them: what each was last asked to show. */
import type { View } from "@/shared/plot/view";

export const charts = new Set<FakeChart>();

export class FakeChart {
  view: View | null = null;
  private index: number | null = null;

  constructor() {
    charts.add(this);
  }
  show(view: View): void {
    this.view = view;
  }
  repaint(): void {
    // nothing is painted here
  }
  point(): void {
    this.put(null);
  }
  unzoom(): void {
    // nothing is zoomed here
  }
  step(by: number): void {
    const last = (this.view?.sheet.x.length ?? 0) - 1;
    this.put(Math.min(Math.max((this.index ?? last) + by, 0), last));
  }
  destroy(): void {
    charts.delete(this);
  }
  private put(index: number | null): void {
    this.index = index;
    this.view?.onIndex?.(index);
  }
}

/** The chart that draws a line of this name. */
export function chartOf(key: string): View | undefined {
  return [...charts]
    .flatMap((chart) => chart.view ?? [])
    .find((view) => view.lines.some((line) => line.key === key));
}
