/** The fields that the page offers: those in which the runs differ, figures of their metrics, and times. */
import { capitalized } from "@/shared/format/value";
import type { RunComparison } from "@/shared/api/types";
import type { ChoiceOption } from "@/shared/controls/Choice";
import { keySeries } from "@/shared/series/keySeries";
import { metricOf, titleOf } from "@/shared/run-table/columns";
import { plainName, quotedName } from "@/shared/run-table/completion";

export const FIGURES = ["best", "last", "mean", "min", "max"] as const;
export type Figure = (typeof FIGURES)[number];

const SEEDS = new Set(["seed", "parameters.seed"]);
const NUMBERS = ["duration", "waited", "steps", "step", "world", "progress", "id"];
const LABELS = ["name", "experiment", "state", "tag", "owner", "project", "cluster"];
const MOST_METRICS = 100;
const MOST_LABELS = 3; // fields

/** Return a figure of a metric as the query language has it: "best(loss)". */
export function figureOf(figure: Figure, metric: string): string {
  return `${figure}(${quotedName(metric)})`;
}

/** Return the name of a field of specs in the query language. */
export function fieldOf(path: string): string {
  return quotedName(path);
}

/** Return the title of a field: "best loss", "optimizer". */
export function fieldTitle(field: string): string {
  return plainName(titleOf(field));
}

/** Return the title of a field at the beginning of a title: "Best loss"; a name of the user's stays as it is. */
export function fieldHead(field: string): string {
  const title = fieldTitle(field);
  const isOwn = title === metricOf(field) || plainName(field).startsWith("parameters.");
  return isOwn ? title : capitalized(title);
}

/** Return the names of metrics, the most useful first. */
export function metricNames({ metrics }: Pick<RunComparison, "metrics">): string[] {
  return keySeries(
    metrics.map(({ name }) => name),
    MOST_METRICS,
  )
    .concat(metrics.map(({ name }) => name))
    .filter((name, index, all) => all.indexOf(name) === index)
    .slice(0, MOST_METRICS);
}

/** Return the fields by which runs can be grouped. */
export function groupFields({ spec, code }: Pick<RunComparison, "spec" | "code">): string[] {
  return [...spec.map(({ path }) => fieldOf(path)), ...(code ? ["code"] : []), ...LABELS];
}

/** Return the fields that have numbers: figures, times, and fields of the specs with a number. */
export function numberFields(comparison: Pick<RunComparison, "spec" | "metrics">): string[] {
  const figures = metricNames(comparison).flatMap((name) => FIGURES.map((figure) => figureOf(figure, name)));
  const spec = comparison.spec
    .filter(({ choices }) => choices.some((choice) => typeof choice === "number"))
    .map(({ path }) => fieldOf(path));
  return [...figures, ...spec, ...NUMBERS];
}

export function optionsOf(fields: readonly string[]): ChoiceOption[] {
  return fields.map((field) => [field, fieldTitle(field)]);
}

/** Return whether a greater value of a field is a better one: by the metric's name, as the service knows it. */
export function isBetterWhenHigher(field: string, { metrics }: Pick<RunComparison, "metrics">): boolean {
  const metric = metricOf(field);
  return metrics.find(({ name }) => name === metric)?.is_better_when_higher ?? false;
}

/**
 * Return the fields by which the runs are grouped without a choice: those in which they differ, but for the seed.
 * No field, if no two runs are alike in all of them: then each run is a line of its own.
 */
export function defaultGroup({ runs, spec }: Pick<RunComparison, "runs" | "spec">): string[] {
  const varied = spec.filter(({ path }) => !SEEDS.has(path) && !path.endsWith(".seed"));
  const { fields, classes } = distinguishing(runs.length, varied);
  return classes < runs.length ? fields : [];
}

/** Return the fields that distinguish runs in a label. */
export function labelFields({ runs, spec }: Pick<RunComparison, "runs" | "spec">): string[] {
  return distinguishing(runs.length, spec).fields.slice(0, MOST_LABELS);
}

/** Return the fields of which each divides the runs further than those before it, and the number of classes. */
function distinguishing(runs: number, spec: RunComparison["spec"]): { fields: string[]; classes: number } {
  // the kind of a choice explains the fields that come with it
  const sorted = spec.toSorted((one, other) => Number(isKind(other.path)) - Number(isKind(one.path)));
  let classes = Array.from({ length: runs }, () => "");
  let count = Math.min(1, runs);
  const fields: string[] = [];
  for (const { path, places } of sorted) {
    const finer = classes.map((known, at) => `${known} ${places[at] ?? ""}`);
    const found = new Set(finer).size;
    if (found > count) {
      [classes, count] = [finer, found];
      fields.push(fieldOf(path));
    }
  }
  return { fields, classes: count };
}

function isKind(path: string): boolean {
  return path.endsWith(".kind");
}
