/** The axes of parallel coordinates: fields of the runs, each with numbers or with words. */
import type { RunComparison } from "@/shared/api/types";
import { valueAxis } from "@/shared/frame/valueAxis";
import { figureOf, labelFields, metricNames } from "../groups/fields";
import type { RunData } from "../groups/runData";
import type { Panel } from "../state/panels";

export interface ParallelAxis {
  field: string;
  ticks: { at: number; text: string }[];
  place: (id: number) => number | null; // of a run in pixels; null without a value
}

const SEPARATOR = "\t"; // no name of a field has one

/** Return the fields of the axes; by default those that distinguish the runs, and the best value of the first metric. */
export function parallelFields(
  { options }: Panel,
  comparison: Pick<RunComparison, "runs" | "spec" | "metrics">,
): string[] {
  if (options.fields !== undefined) return options.fields.split(SEPARATOR).filter(Boolean);
  const [metric] = metricNames(comparison);
  return [
    ...labelFields(comparison),
    ...(metric === undefined ? ["duration"] : ["duration", figureOf("best", metric)]),
  ];
}

export function fieldsText(fields: readonly string[]): string {
  return fields.join(SEPARATOR);
}

/** Return the axis of a field from `from` (the least value) to `to` pixels. */
export function parallelAxis(
  data: RunData,
  ids: readonly number[],
  field: string,
  from: number,
  to: number,
): ParallelAxis {
  const values = ids.map((id) => data.value(id, field)).filter((value) => value !== null);
  const axis = valueAxis(values, from, to, {
    unit: (high) => data.unit(field, high),
    tick: (value, distance) => data.tick(field, value, distance),
    word: String,
  });
  return { field, ticks: axis.ticks, place: (id) => axis.place(data.value(id, field)) };
}
