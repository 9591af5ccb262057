/** The options and the points of a scatter plot. */
import type { RunComparison } from "@/shared/api/types";
import { extentOf } from "@/shared/frame/axis";
import { figureOf, fieldOf, isBetterWhenHigher, metricNames } from "../groups/fields";
import type { RunGroup } from "../groups/groups";
import type { RunData } from "../groups/runData";
import { oneOf, type Panel } from "../panels/panels";

export interface ScatterOptions {
  x: string; // fields
  y: string;
  xLog: boolean;
  yLog: boolean;
  hasFront: boolean;
  isHighX: boolean; // whether a greater x is better
  isHighY: boolean;
}

export interface ScatterPoint {
  id: number;
  group: RunGroup;
  x: number;
  y: number;
}

/** Return the options; by default the best value of the most useful metric against the time of a run. */
export function scatterOptions(
  panel: Panel,
  comparison: Pick<RunComparison, "metrics" | "spec">,
): ScatterOptions {
  const { options } = panel;
  const [metric] = metricNames(comparison);
  const number = comparison.spec.find(({ choices }) => choices.some((choice) => typeof choice === "number"));
  const y =
    options.y ??
    (metric === undefined ? (number ? fieldOf(number.path) : "steps") : figureOf("best", metric));
  const x = options.x ?? "duration";
  const isHigh = (name: string, field: string) => {
    const goal = oneOf(panel, name, ["auto", "high", "low"]);
    return goal === "auto" ? isBetterWhenHigher(field, comparison) : goal === "high";
  };
  return {
    ...{ x, y },
    xLog: options.xlog === "on",
    yLog: options.ylog === "on",
    hasFront: options.front !== "off",
    isHighX: isHigh("xgoal", x),
    isHighY: isHigh("ygoal", y),
  };
}

/** Return the points of the runs that have both figures, and that the axes can show. */
export function scatterPoints(
  data: RunData,
  groups: readonly RunGroup[],
  options: ScatterOptions,
): ScatterPoint[] {
  return groups.flatMap((group) =>
    group.ids.flatMap((id): ScatterPoint[] => {
      const [x, y] = [data.number(id, options.x), data.number(id, options.y)];
      if (x === null || y === null || (options.xLog && x <= 0) || (options.yLog && y <= 0)) return [];
      return [{ id, group, x, y }];
    }),
  );
}

export function extentsOf(points: readonly ScatterPoint[]) {
  const [x, y] = [extentOf(points.map((point) => point.x)), extentOf(points.map((point) => point.y))];
  return x && y ? { x, y } : null;
}
