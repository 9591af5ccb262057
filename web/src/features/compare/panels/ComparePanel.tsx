/** The kinds of panels: which component draws one, which fields it needs, and which ones a page begins with. */
import type { RunComparison } from "@/shared/api/types";
import { CurvesPanel } from "../curves/CurvesPanel";
import { figureOf, metricNames } from "../groups/fields";
import { scatterOptions } from "../scatter/scatter";
import { ScatterPanel } from "../scatter/ScatterPanel";
import { BarsPanel } from "./BarsPanel";
import { BoxPanel } from "./BoxPanel";
import type { Panel, PanelProps } from "./panels";
import { parallelFields, ParallelPanel } from "./ParallelPanel";
import { boxField } from "./RowsPanel";

export function ComparePanel(props: PanelProps) {
  switch (props.panel.kind) {
    case "curves":
      return <CurvesPanel {...props} />;
    case "scatter":
      return <ScatterPanel {...props} />;
    case "box":
      return <BoxPanel {...props} />;
    case "bars":
      return <BarsPanel {...props} />;
    case "parallel":
      return <ParallelPanel {...props} />;
  }
}

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
