/** What every panel draws from. */
import type { RunComparison } from "@/shared/api/types";
import type { Groups } from "../groups/useGroups";
import type { RunData } from "../groups/runData";
import type { Panel } from "../state/panels";
import type { PanelPlace } from "./PanelFrame";

export interface Compared {
  ids: readonly number[];
  comparison: RunComparison;
  data: RunData;
  groups: Groups;
  isLive: boolean; // a run has not ended
}

export interface PanelProps extends Compared {
  panel: Panel;
  place: PanelPlace;
  onOptions: (change: Record<string, string>) => void;
}
