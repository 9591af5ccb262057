/** What a chart is asked to show. */
import type { Sheet } from "@/shared/curves/column";

export interface Line {
  key: string;
  label: string;
  color: string;
  dash?: number[];
  fill?: boolean; // down to the line before it: the layers of a stack
  dots?: boolean; // few values: show each
  behind?: boolean; // the raw values behind a smoothed line
}

export interface View {
  lines: Line[];
  sheet: Sheet;
  tick: (value: number) => string;
  logarithmic?: boolean;
  ceiling?: number;
  span?: number; // how far x goes at least
  sync?: string; // charts of one name share their crosshair and their zoom
  hidden?: ReadonlySet<string>;
  lit?: ReadonlySet<string> | null; // these stand out; null: none does
  seeks?: boolean; // the pointer picks the nearest line
  onIndex?: (index: number | null) => void; // the crosshair's place in sheet.x
  onZoom?: (zoomed: boolean) => void;
  onNear?: (key: string | null) => void;
}
