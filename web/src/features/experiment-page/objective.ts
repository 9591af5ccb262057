/** The objective of an experiment in words, and as a field of the table of runs. */
import type { ExperimentView } from "@/shared/api/types";
import { figureOf } from "@/shared/run-table/columns";
import { HELDOUT_ACCURACY, seriesKind, titleInText } from "@/shared/series/catalog";

export type Objective = NonNullable<ExperimentView["objective"]>;

/** Return the objective within a sentence: "best held-out accuracy", "last val_loss". */
export function objectiveText({ metric, value }: Objective): string {
  return `${value} ${titleInText(seriesKind(metric))}`;
}

/** Return the title of the column with the values of runs: "Best accuracy", "Best val_loss". */
export function objectiveTitle({ metric, value }: Objective): string {
  const name = metric === HELDOUT_ACCURACY ? "accuracy" : titleInText(seriesKind(metric));
  return `${value === "best" ? "Best" : "Last"} ${name}`;
}

/** Return the field with the values of runs: "best(heldout_accuracy)", "min(val_loss)". */
export function objectiveField({ metric, goal, value }: Objective): string {
  if (value === "last") return figureOf("last", metric);
  // `best` goes by the name of a metric, and an objective may say the opposite
  return metric === HELDOUT_ACCURACY && goal === "max" ? figureOf("best", metric) : figureOf(goal, metric);
}

/** Return whether the values of runs are those of the series `metrics`, which have columns with their newest values. */
export function isColumnOf({ metric, value }: Objective, metrics: readonly string[]): boolean {
  return value === "last" && metrics.includes(metric);
}
