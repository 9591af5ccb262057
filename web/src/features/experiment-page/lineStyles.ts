/** The line styles of an experiment's curves: one axis sets the color, another the dashes. */
import type { RunView } from "@/shared/api/types";
import type { LegendEntry } from "@/shared/files/picture";
import { valueKey } from "@/shared/format/value";
import { category, DASHES, MOST_CATEGORIES, ramp } from "@/shared/plot/palette";
import type { Theme } from "@/shared/theme/theme";
import { areNumbers, type Axis, axisText, axisValue, sortValues } from "./axes";

/** The axes of color and dashes, the style of each of their values, and the style of each run. */
export interface LineStyles {
  colored: Axis | null;
  dashed: Axis | null;
  color: (axisValue: unknown) => string;
  dash: (axisValue: unknown) => number[];
  of: (run: Pick<RunView, "values"> | undefined) => { color: string; dash: number[] };
}

/** Color by the axis `path`, or by the first axis with several values when `path` is null. */
export function lineStylesOf(axes: Axis[], path: string | null, theme: Theme): LineStyles {
  const varied = axes.filter((axis) => axis.values.length > 1);
  const colored = varied.find((axis) => axis.path === path) ?? varied[0] ?? null;
  const dashed = varied.find((axis) => axis !== colored && axis.values.length <= DASHES.length) ?? null;
  const color = (value: unknown) => (colored ? colorOf(colored.values, value, theme) : category(0, theme));
  const dash = (value: unknown) => DASHES[dashed ? indexOf(sortValues(dashed.values), value) : 0] ?? [];
  const of = (run: Pick<RunView, "values"> | undefined) => ({
    color: color(colored && axisValue(run, colored)),
    dash: dash(dashed && axisValue(run, dashed)),
  });
  return { colored, dashed, color, dash, of };
}

/** Return the legend of a file: the values of the axis that sets the color, else those of the dashes. */
export function legendOf(axes: Axis[], { colored, dashed, color, dash }: LineStyles): LegendEntry[] {
  const ink = color(undefined);
  return axes
    .filter((axis) => axis === colored || axis === dashed)
    .flatMap((axis) =>
      sortValues(axis.values).map((value) => ({
        label: `${axis.name} ${axisText(axis, value)}`,
        color: axis === colored ? color(value) : ink,
        dash: axis === dashed ? dash(value) : [],
      })),
    );
}

function colorOf(values: unknown[], value: unknown, theme: Theme): string {
  const index = indexOf(sortValues(values), value);
  // A ramp shows the order of numbers. More categories than colors use it too.
  if (areNumbers(values) || values.length > MOST_CATEGORIES)
    return ramp(index / Math.max(1, values.length - 1), theme);
  return category(index, theme);
}

function indexOf(values: unknown[], value: unknown): number {
  return Math.max(
    0,
    values.findIndex((other) => valueKey(other) === valueKey(value)),
  );
}
