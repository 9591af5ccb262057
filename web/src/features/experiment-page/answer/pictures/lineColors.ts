/** The colors and dashes of an answer's lines, in the order of their labels. */
import type { AnswerGroup } from "@/shared/api/types";
import type { LegendEntry } from "@/shared/files/picture";
import { category, DASHES, MOST_CATEGORIES, ramp } from "@/shared/plot/palette";
import type { Theme } from "@/shared/theme/theme";
import { byLabel } from "../scales";

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
