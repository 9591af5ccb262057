/** A panel by the kind of its picture. */
import { BarsPanel } from "../rows/BarsPanel";
import { BoxPanel } from "../rows/BoxPanel";
import { ParallelPanel } from "../parallel/ParallelPanel";
import { ScatterPanel } from "../scatter/ScatterPanel";
import { CurvesPanel } from "../curves/CurvesPanel";
import type { PanelProps } from "./compared";

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
