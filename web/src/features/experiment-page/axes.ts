/** The axes of an experiment: the parameters along which its runs differ. */
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { axisNames, valueText } from "@/shared/format/value";

export interface Axis {
  path: string;
  name: string;
  values: unknown[];
}

export function axesOf(experiment: ExperimentDetail): Axis[] {
  const axes = experiment.spec.axes;
  const names = axisNames(Object.keys(axes));
  return Object.entries(axes).map(([path, values]) => ({ path, name: names.get(path) ?? path, values }));
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
