/** The content of a chart: its lines, its data and its options. */
import type { Aligned } from "@/shared/curves/column";
import type { NotFinite } from "@/shared/curves/curve";
import type { StepRange } from "@/shared/curves/view";
import type { CsvValue } from "@/shared/files/csv";
import type { Tick } from "@/shared/format/ticks";

export interface Line {
  key: string;
  label: string;
  color: string;
  dash?: number[];
  fill?: boolean; // fill the area down to the line before: the layers of a stack
  dots?: boolean; // show a dot for each value
  behind?: boolean; // the raw values behind a smoothed line
}

export interface View {
  lines: Line[];
  aligned: Aligned;
  tick: Tick; // of y
  logarithmic?: boolean;
  ceiling?: number;
  yRange?: { low: number; high: number } | null; // of y; values beyond it are cut off
  marks?: readonly number[]; // x positions with a dashed line: where a run resumed
  restarts?: readonly (readonly number[])[]; // of each line: x positions from which its run resumed
  notFinite?: readonly (readonly NotFinite[])[]; // of each line: where its value is NaN or infinite
  isTime?: boolean; // x is in seconds
  isCounted?: boolean; // x is a number of steps or samples: a part of one has no tick
  xMin?: number; // the first x of the charts of the page
  xMax?: number; // the x axis ends here or later
  sync?: string; // charts with the same name share crosshair and zoom
  hidden?: ReadonlySet<string>;
  highlighted?: ReadonlySet<string> | null; // null: no line is highlighted
  selectsNearest?: boolean; // the pointer selects the nearest line
  onIndex?: (index: number | null) => void; // the crosshair's index in aligned.x
  range?: StepRange; // of x that the page asks for; the chart follows where it changes
  onRange?: (range: StepRange) => void; // the zoomed range of x; null for all of it
  onSelect?: (key: string | null) => void;
}

/** What a ring in a chart means. */
export const RESTART_NOTE = "A ring: the run resumed there after a restart.";

/** Return whether a chart has anything to show: a number, or the sign of a value that is not finite. */
export function hasValues({ aligned, notFinite }: Pick<View, "aligned" | "notFinite">): boolean {
  return (
    aligned.ys.some((values) => values.some((value) => typeof value === "number")) ||
    (notFinite?.some((places) => places.length > 0) ?? false)
  );
}

/** What stands in the place of a logarithmic chart without a value that it can show. */
export const NO_LOG = "No value is above 0, and a log scale has no others.";

/** Return whether a chart has a value that a logarithmic axis can show. */
export function hasPositive({ aligned }: Pick<View, "aligned">): boolean {
  return aligned.ys.some((values) => values.some((value) => typeof value === "number" && value > 0));
}

/** Return the lines that are not hidden. */
export function visibleLines({ lines, hidden }: Pick<View, "lines" | "hidden">): Line[] {
  return lines.filter((line) => !hidden?.has(line.key));
}

/** Return the visible line after or before the highlighted one; after the last line comes the first. */
export function nextLine(view: View, by: 1 | -1): string | null {
  const keys = visibleLines(view).map((line) => line.key);
  const highlighted = keys.filter((key) => view.highlighted?.has(key));
  const from = highlighted.length === 1 ? keys.indexOf(highlighted[0] ?? "") : by > 0 ? -1 : 0;
  return keys.at((from + by) % Math.max(1, keys.length)) ?? null;
}

/**
 * Return the full range of x; charts of one page agree on it, although their series have different steps. It begins
 * at 0, or with the first step where the steps before it would take more than half of the picture.
 */
export function fullX({
  xMin,
  xMax,
  aligned: { x },
}: Pick<View, "xMin" | "xMax" | "aligned">): [number, number] {
  const [first, last] = [x[0] ?? 0, Math.max(xMax ?? 0, x.at(-1) ?? 0)];
  const start = startOfX(Math.min(xMin ?? first, first), last);
  return [start, last > start ? last : start + 1];
}

/** Return where an axis of x begins whose data reach from `first` to `last`. */
export function startOfX(first: number, last: number): number {
  return first <= 0 || first > last - first ? (first < last ? first : Math.min(first, 0)) : 0;
}

/**
 * The data of a chart as lines of a CSV file.
 *
 * Return a line for each point that the chart draws; the heads name the line, the x axis and the value.
 */
export function csvOfChart(
  view: Pick<View, "lines" | "aligned" | "hidden">,
  heads: readonly [line: string, x: string, value: string],
): CsvValue[][] {
  const { lines, aligned } = view;
  const rows = visibleLines(view).flatMap((line) =>
    (aligned.ys[lines.indexOf(line)] ?? []).flatMap((value, at): CsvValue[][] =>
      value === undefined ? [] : [[line.key, aligned.x[at] ?? null, value]],
    ),
  );
  return [[...heads], ...rows];
}
