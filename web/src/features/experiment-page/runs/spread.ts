/** Mean and deviation of the runs that differ in the seed alone. */
import type { RunView } from "@/shared/api/types";
import { distinctTexts, valueKey } from "@/shared/format/value";
import { type Axis, axisValue } from "../axes";

export interface Group {
  values: string[]; // of the other axes, in their order
  runs: number;
  done: RunView[];
}

export interface Spread {
  mean: number;
  deviation: number | null; // of the sample; null for one value
}

/** Return the axis that repeats the runs, which is a seed with several values. */
export function repeatedAxis(axes: Axis[]): Axis | null {
  const seed = axes.find(({ path }) => path === "seed" || path === "parameters.seed");
  return seed && seed.values.length > 1 ? seed : null;
}

/** Return the groups of runs that differ at the axis `over` alone, in the order of their first runs. */
export function groupRuns(runs: RunView[], axes: Axis[], over: Axis): Group[] {
  const others = axes.filter((axis) => axis !== over);
  const texts = others.map((axis) => textsOf(runs.map((run) => axisValue(run, axis))));
  const groups = new Map<string, Group>();
  for (const run of runs) {
    const values = others.map((axis, at) => texts[at]?.get(valueKey(axisValue(run, axis))) ?? "");
    const key = JSON.stringify(values);
    const group = groups.get(key) ?? { values, runs: 0, done: [] };
    group.runs += 1;
    if (run.state === "done") group.done.push(run);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Return the texts of values by their keys, different ones of different values: of 1 and "1". */
function textsOf(values: readonly unknown[]): Map<string, string> {
  const found = new Map(values.map((value) => [valueKey(value), value]));
  const texts = distinctTexts([...found.values()]);
  return new Map([...found.keys()].map((key, at) => [key, texts[at] ?? ""]));
}

/** Return mean and deviation of a figure over runs; null if no run has it. */
export function spreadOf(
  runs: RunView[],
  figure: (run: RunView) => number | null | undefined,
): Spread | null {
  const found = runs.map(figure).filter((value): value is number => typeof value === "number");
  if (!found.length) return null;
  const mean = found.reduce((sum, value) => sum + value, 0) / found.length;
  const squares = found.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: found.length > 1 ? Math.sqrt(squares / (found.length - 1)) : null };
}
