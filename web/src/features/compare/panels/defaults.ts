/** The panels of a page for which the reader has chosen none, and the fields that panels draw. */
import type { RunComparison } from "@/shared/api/types";
import { figureOf, metricNames } from "../groups/fields";
import type { Panel } from "../state/panels";
import { boxField } from "../rows/valueField";
import { scatterOptions } from "../scatter/scatter";
import { parallelFields } from "../parallel/parallel";

const MOST_PANELS = 2;

/** Return a panel of curves for the most useful metrics. */
export function defaultPanels(comparison: Pick<RunComparison, "metrics">): Panel[] {
  const names = metricNames(comparison).slice(0, MOST_PANELS);
  return names.map((metric) => ({ kind: "curves", options: { metric } }));
}

/** Return the fields of the table of runs that the panels draw. */
export function fieldsOfPanels(panels: readonly Panel[], comparison: RunComparison): string[] {
  return panels.flatMap((panel) => {
    switch (panel.kind) {
      case "curves":
        return [];
      case "scatter": {
        const { x, y } = scatterOptions(panel, comparison);
        return [x, y];
      }
      case "box":
      case "bars":
        return [boxField(panel, comparison)];
      case "parallel":
        return parallelFields(panel, comparison);
    }
  });
}

/** Return the fields of the table of values. */
export function fieldsOfValues(metric: string): string[] {
  return metric ? [figureOf("best", metric), figureOf("last", metric)] : [];
}
