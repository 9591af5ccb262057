/** Rows of a picture with one for each group: their heights, labels and values. */
import type { RunGroup } from "../groups/groups";
import type { RunData } from "../groups/runData";
import type { Box } from "@/shared/frame/Frame";

export const ROW = 28; // pixels
export const MOST_ROWS = 60;
export const TICK_PX = 90; // between two ticks
const LETTER = 6.4; // about the width of a letter of 12 pixels
const MOST_LABEL = 0.4; // of the picture's width

export interface ValueRow {
  group: RunGroup;
  values: number[];
}

/** Return the groups that have values. */
export function rowsOf(data: RunData, groups: readonly RunGroup[], field: string): ValueRow[] {
  return groups
    .map((group) => ({ group, values: group.ids.flatMap((id) => data.number(id, field) ?? []) }))
    .filter(({ values }) => values.length > 0);
}

/** Return the box to the right of the labels, and the height of the picture. */
export function rowBox(
  width: number,
  rows: readonly ValueRow[],
): { box: Box; height: number; letters: number } {
  const longest = Math.max(...rows.map(({ group }) => group.label.length), 4);
  const left = Math.min(longest * LETTER + 14, width * MOST_LABEL);
  const bottom = 10 + rows.length * ROW;
  return {
    box: { left, right: width - 22, top: 6, bottom },
    height: bottom + 40,
    letters: Math.floor((left - 14) / LETTER),
  };
}

export function rowMiddle(index: number): number {
  return 10 + (index + 0.5) * ROW;
}

/** Return a label that fits; a longer one ends with an ellipsis. */
export function shortLabel(label: string, letters: number): string {
  return label.length <= letters ? label : `${label.slice(0, Math.max(1, letters - 1))}…`;
}
