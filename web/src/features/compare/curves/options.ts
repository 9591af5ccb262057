/** The reader's options for a panel of curves, with their defaults. */
import type { RunComparison } from "@/shared/api/types";
import { category } from "@/shared/plot/palette";
import { LOSS } from "@/shared/series/catalog";
import type { Theme } from "@/shared/theme/theme";
import type { Extent } from "@/shared/frame/axis";
import { metricNames } from "../groups/fields";
import type { RunGroup } from "../groups/groups";
import { oneOf, type Panel } from "../panels/panels";
import { readAxis, type XAxis } from "@/shared/curves/xAxis";

export const SMOOTHINGS = ["none", "light", "medium", "strong"] as const;
const SHARES: Record<(typeof SMOOTHINGS)[number], number> = {
  none: 0,
  light: 1 / 40,
  medium: 1 / 12,
  strong: 1 / 4,
};
const MOST_SINGLE = 60; // lines that a reader can follow one by one
const FEW = 8; // runs that need no mean

export interface CurveOptions {
  metric: string;
  axis: XAxis;
  xLog: boolean;
  yLog: boolean;
  smoothing: (typeof SMOOTHINGS)[number];
  share: number; // of a curve over which it is averaged
  isMean: boolean;
  isWhole: boolean; // also values that are far out
  zoom: Extent | null; // of the x axis; null: all of it
}

export function curveOptions(
  panel: Panel,
  comparison: Pick<RunComparison, "metrics">,
  groups: readonly RunGroup[],
): CurveOptions {
  const smoothing = oneOf(panel, "smooth", SMOOTHINGS);
  const lines = oneOf(panel, "lines", ["auto", "each", "mean"]);
  return {
    metric: panel.options.metric ?? metricNames(comparison)[0] ?? LOSS,
    axis: readAxis(panel.options.x),
    xLog: panel.options.xlog === "on",
    yLog: panel.options.ylog === "on",
    smoothing,
    share: SHARES[smoothing],
    isMean: lines === "mean" || (lines === "auto" && needsMeans(groups)),
    isWhole: panel.options.whole === "on",
    zoom: zoomOf(panel),
  };
}

/** Return the range of x that the address holds as "from" and "to". */
function zoomOf({ options }: Panel): Extent | null {
  const [low, high] = [Number(options.from ?? Number.NaN), Number(options.to ?? Number.NaN)];
  return low < high ? { low, high } : null;
}

function needsMeans(groups: readonly RunGroup[]): boolean {
  const runs = groups.reduce((sum, { ids }) => sum + ids.length, 0);
  return runs > MOST_SINGLE || (runs > FEW && groups.length < runs);
}

/** Return the groups whose means are drawn: all runs are one group where the reader has not grouped them. */
export function groupsOfMeans(
  groups: readonly RunGroup[],
  hasFields: boolean,
  theme: Theme,
): readonly RunGroup[] {
  if (hasFields || groups.length < 2) return groups;
  const ids = groups.flatMap((group) => group.ids);
  return [{ key: "all", label: "all runs", ids, color: category(0, theme), dash: [] }];
}
