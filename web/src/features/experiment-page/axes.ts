/** The axes of an experiment: the parameters along which its runs differ. */
import { axisNames, distinctTexts, ownValue, valueKey, valueText } from "@/shared/format/value";
import type { ExperimentDetail, RunView } from "@/shared/api/types";

export interface Axis {
  path: string;
  name: string;
  values: unknown[];
  base: unknown; // the value of a run that was added outside the grid and does not set the field
}

/** Return the fields that the experiment varies: first those that its variants set together, then its axes. */
export function axesOf(experiment: ExperimentDetail): Axis[] {
  const { axes, variants } = experiment.spec;
  const together = Object.keys(variants[0] ?? {}).map((path): [string, unknown[]] => [
    path,
    distinct(variants.map((variant) => variant[path])),
  ]);
  const columns = [...together, ...Object.entries(axes), ...searched(experiment)];
  const names = axisNames(columns.map(([path]) => path));
  return columns.map(([path, values]) => {
    const base = fieldOf(experiment.spec.base, path);
    const same = values.find((value) => isPartOf(value, base));
    return { path, name: names.get(path) ?? path, values, base: same ?? base };
  });
}

/** Return whether a sampler chooses the values of the runs. */
export function hasSearch({ spec }: ExperimentDetail): boolean {
  return "search" in spec && spec.search !== null && spec.search !== undefined;
}

/** Return whether a sampler draws values from distributions: hardly two runs have the same value. */
export function hasDistributions({ spec }: ExperimentDetail): boolean {
  const space = "search" in spec ? (spec.search?.space ?? {}) : {};
  return Object.values(space).some((parameter) => parameter.kind !== "choice");
}

/** Return the parameters of a search, with the values of those that are choices. */
function searched({ spec }: ExperimentDetail): [string, unknown[]][] {
  const space = "search" in spec ? (spec.search?.space ?? {}) : {};
  return Object.entries(space).map(([path, parameter]) => [
    path,
    parameter.kind === "choice" ? parameter.values : [],
  ]);
}

/** Return a run's value at an axis. */
export function axisValue(run: Pick<RunView, "values"> | undefined, axis: Axis): unknown {
  return run && Object.hasOwn(run.values, axis.path) ? run.values[axis.path] : axis.base;
}

/** Return the field of a document at a dotted path. */
function fieldOf(document: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((at, name) => (isObject(at) ? ownValue(at, name) : undefined), document);
}

/** Return whether the complete value has every field of a value: {kind: sgd, momentum: 0.9} has those of {kind: sgd}. */
function isPartOf(value: unknown, complete: unknown): boolean {
  if (!isObject(value) || !isObject(complete)) return valueKey(value) === valueKey(complete);
  return Object.entries(value).every(([name, inner]) => isPartOf(inner, ownValue(complete, name)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Return the values without repeats: two variants may have one value in common. */
function distinct(values: unknown[]): unknown[] {
  return [...new Map(values.map((value) => [valueKey(value), value])).values()];
}

/** Return the runs whose value at `axis` is `value`. */
export function runsWith(runs: RunView[], axis: Axis, value: unknown): RunView[] {
  const key = valueKey(value);
  return runs.filter((run) => valueKey(axisValue(run, axis)) === key);
}

/** Return the text of a value of an axis, which no other of its values has. */
export function axisText(axis: Axis, value: unknown): string {
  let texts = TEXTS.get(axis);
  if (!texts) {
    const own = distinctTexts(axis.values);
    texts = new Map(axis.values.map((one, at) => [valueKey(one), own[at] ?? ""]));
    TEXTS.set(axis, texts);
  }
  return texts.get(valueKey(value)) ?? valueText(value); // a run that was added outside the grid
}

const TEXTS = new WeakMap<Axis, Map<string, string>>(); // of the values of an axis, by their keys

/** Return numbers in ascending order, other values in their own order. */
export function sortValues(values: unknown[]): unknown[] {
  return areNumbers(values) ? values.toSorted((a, b) => a - b) : values;
}

export function areNumbers(values: unknown[]): values is number[] {
  return values.every((value) => typeof value === "number");
}
