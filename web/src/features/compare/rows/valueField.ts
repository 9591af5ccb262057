/** The field that a box plot or bars draw. */
import type { RunComparison } from "@/shared/api/types";
import { figureOf, metricNames } from "../groups/fields";
import type { Panel } from "../state/panels";

/** Return the field of the address; by default the best value of the most useful metric, else the duration. */
export function boxField({ options }: Panel, comparison: Pick<RunComparison, "metrics">): string {
  if (options.field) return options.field;
  const [metric] = metricNames(comparison);
  return metric === undefined ? "duration" : figureOf("best", metric);
}
