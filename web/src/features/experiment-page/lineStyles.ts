/** The axes of an experiment as its chart reads them: which value has which color and which dashes. */
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { axisNames, valueText } from "@/shared/format/value";
import { category, DASHES, ramp } from "@/shared/plot/palette";
import type { Theme } from "@/shared/theme/theme";

export interface Axis {
  path: string;
  name: string;
  values: unknown[];
}

/** Color and dashes of every run; the axes that these stand for. */
export interface Inks {
  colored: Axis | null;
  dashed: Axis | null;
  color: (axisValue: unknown) => string;
  dash: (axisValue: unknown) => number[];
  of: (run: RunView | undefined) => { color: string; dash: number[] };
}

export function axesOf(experiment: ExperimentDetail): Axis[] {
  const axes = experiment.spec.axes;
  const names = axisNames(Object.keys(axes));
  return Object.entries(axes).map(([path, values]) => ({ path, name: names.get(path) ?? path, values }));
}

/** `path` is the axis to color by; the first with more than one value when it is null. */
export function inksFor(axes: Axis[], path: string | null, theme: Theme): Inks {
  const varied = axes.filter((axis) => axis.values.length > 1);
  const colored = varied.find((axis) => axis.path === path) ?? varied[0] ?? null;
  const dashed = varied.find((axis) => axis !== colored && axis.values.length <= DASHES.length) ?? null;
  const color = (value: unknown) => (colored ? colorOf(colored.values, value, theme) : category(0, theme));
  const dash = (value: unknown) => DASHES[dashed ? place(ordered(dashed.values), value) : 0] ?? [];
  const of = (run: RunView | undefined) => ({
    color: color(colored && run?.values[colored.path]),
    dash: dash(dashed && run?.values[dashed.path]),
  });
  return { colored, dashed, color, dash, of };
}

/** The runs that have `value` at `axis`. */
export function having(runs: RunView[], axis: Axis, value: unknown): RunView[] {
  return runs.filter((run) => valueText(run.values[axis.path]) === valueText(value));
}

/** Numbers by size, anything else as it stands. */
export function ordered(values: unknown[]): unknown[] {
  return areNumbers(values) ? values.toSorted((a, b) => a - b) : values;
}

function colorOf(values: unknown[], value: unknown, theme: Theme): string {
  const at = place(ordered(values), value);
  // what has an order gets colors that have one, and so does what is too much to tell apart anyway
  if (areNumbers(values) || values.length > 7) return ramp(at / Math.max(1, values.length - 1), theme);
  return category(at, theme);
}

function place(values: unknown[], value: unknown): number {
  return Math.max(
    0,
    values.findIndex((other) => valueText(other) === valueText(value)),
  );
}

function areNumbers(values: unknown[]): values is number[] {
  return values.every((value) => typeof value === "number");
}
