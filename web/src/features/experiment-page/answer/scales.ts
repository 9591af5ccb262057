/** Positions on an answer's axis, and the groups and colors of its lines. */
import type { AnswerAxis, AnswerFigure, AnswerGroup, FigureSpread } from "@/shared/api/types";
import type { LegendEntry } from "@/shared/files/picture";
import { category, DASHES, MOST_CATEGORIES, ramp } from "@/shared/plot/palette";
import type { Position } from "@/shared/plot/scales";
import type { Theme } from "@/shared/theme/theme";

/** Return the position of a value of the axis in pixels, from `from` to `to`. */
export function axisPosition({ scale, values }: AnswerAxis, from: number, to: number): Position {
  const at = scale === "linear" ? (value: number) => value : (value: number) => Math.log2(value);
  const [low, high] = [at(values[0] ?? 0), at(values.at(-1) ?? 1)];
  if (high === low) return () => (from + to) / 2;
  return (value) => from + ((at(value) - low) / (high - low)) * (to - from);
}

/** Return the mean and the ends of its error bar. */
export function extremesOf({ figure: spread }: AnswerGroup, figure: AnswerFigure): number[] {
  return spread ? [spread.mean, ...errorBar(spread, figure)] : [];
}

/** Return one deviation below and above the mean, as far as the figure can have such values. */
export function errorBar({ mean, deviation }: FigureSpread, figure: AnswerFigure): [number, number] {
  const isPositive = figure.unit !== "number" || figure.name === "samples_per_s";
  const [low, high] = [mean - (deviation ?? 0), mean + (deviation ?? 0)];
  // figures of a service of another version may be beyond the bounds: a bar always has its mean
  return [
    isPositive ? Math.min(mean, Math.max(0, low)) : low,
    figure.unit === "share" ? Math.max(mean, Math.min(1, high)) : high,
  ];
}

/** Return the groups of each label, in the order of the first of each. */
export function byLabel(groups: AnswerGroup[]): Map<string, AnswerGroup[]> {
  const found = new Map<string, AnswerGroup[]>();
  for (const group of groups) found.set(group.label, [...(found.get(group.label) ?? []), group]);
  return found;
}

export function isInside({ low, high }: { low: number; high: number }, value: number): boolean {
  return value >= low && value <= high;
}

export function colorOf(index: number, count: number, theme: Theme): string {
  return count > MOST_CATEGORIES ? ramp(index / (count - 1), theme) : category(index, theme);
}

/** Return the dashes of a line, so that a few lines differ without their colors too. */
export function dashOf(index: number, count: number): number[] {
  return count <= DASHES.length ? (DASHES[index] ?? []) : [];
}

/** Return the legend of the lines for a file; none for a single line. */
export function legendOf(groups: AnswerGroup[], theme: Theme): LegendEntry[] {
  const labels = [...byLabel(groups)].map(([label]) => label);
  if (labels.length < 2) return [];
  return labels.map((label, index) => ({
    label,
    color: colorOf(index, labels.length, theme),
    dash: dashOf(index, labels.length),
  }));
}
