/** The axes of an experiment: the parameters along which its runs differ. */
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { axisNames, valueText } from "@/shared/format/value";

export interface Axis {
  path: string;
  name: string;
  values: unknown[];
}

/** Return the fields that the experiment varies: first those that its variants set together, then its axes. */
export function axesOf(experiment: ExperimentDetail): Axis[] {
  const { axes, variants } = experiment.spec;
  const together = Object.keys(variants[0] ?? {}).map((path): [string, unknown[]] => [
    path,
    distinct(variants.map((variant) => variant[path])),
  ]);
  const columns = [...together, ...Object.entries(axes)];
  const names = axisNames(columns.map(([path]) => path));
  return columns.map(([path, values]) => ({ path, name: names.get(path) ?? path, values }));
}

/** Return the values without repeats: two variants may have one value in common. */
function distinct(values: unknown[]): unknown[] {
  return [...new Map(values.map((value) => [valueText(value), value])).values()];
}

/** Return the runs whose value at `axis` is `value`. */
export function runsWith(runs: RunView[], axis: Axis, value: unknown): RunView[] {
  return runs.filter((run) => valueText(run.values[axis.path]) === valueText(value));
}

/** Return numbers in ascending order, other values in their own order. */
export function sortValues(values: unknown[]): unknown[] {
  return areNumbers(values) ? values.toSorted((a, b) => a - b) : values;
}

export function areNumbers(values: unknown[]): values is number[] {
  return values.every((value) => typeof value === "number");
}
