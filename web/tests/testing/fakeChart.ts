/** Fake charts that record the last view of each chart. */
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
    // a fake chart paints nothing
  }
  moveTo(): void {
    this.setIndex(null);
  }
  unzoom(): void {
    this.view?.onRange?.(null);
  }
  step(by: number): void {
    const last = (this.view?.aligned.x.length ?? 0) - 1;
    this.setIndex(Math.min(Math.max((this.index ?? last) + by, 0), last));
  }
  shown() {
    const { aligned } = this.view ?? { aligned: { x: [], ys: [] } };
    const ys = aligned.ys.flat().filter((value) => typeof value === "number");
    const x: [number, number] = [aligned.x[0] ?? 0, aligned.x.at(-1) ?? 1];
    return { x, y: [Math.min(...ys), Math.max(...ys)] as [number, number] };
  }
  destroy(): void {
    charts.delete(this);
  }
  private setIndex(index: number | null): void {
    this.index = index;
    this.view?.onIndex?.(index);
  }
}

/** Return the view of the chart that draws the line `key`. */
export function chartOf(key: string): View | undefined {
  return [...charts]
    .flatMap((chart) => chart.view ?? [])
    .find((view) => view.lines.some((line) => line.key === key));
}
