/** Charts as the tests see them: what each was last asked to show. */
import type { View } from "@/shared/plot/view";

export const charts = new Set<FakeChart>();

export class FakeChart {
  view: View | null = null;

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
    // there is no crosshair
  }
  unzoom(): void {
    // nothing is zoomed here
  }
  step(by: number): void {
    this.view?.onIndex?.(by > 0 ? 0 : (this.view.sheet.x.length || 1) - 1);
  }
  destroy(): void {
    charts.delete(this);
  }
}

/** The chart that draws a line of this name. */
export function chartOf(key: string): View | undefined {
  return [...charts]
    .flatMap((chart) => chart.view ?? [])
    .find((view) => view.lines.some((line) => line.key === key));
}
