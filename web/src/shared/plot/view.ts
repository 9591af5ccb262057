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
  marks?: readonly number[]; // places on x that are marked: where a run took its curve up again
  span?: number; // how far x goes at least
  sync?: string; // charts of one name share their crosshair and their zoom
  hidden?: ReadonlySet<string>;
  lit?: ReadonlySet<string> | null; // these stand out; null: none does
  seeks?: boolean; // the pointer picks the nearest line
  onIndex?: (index: number | null) => void; // the crosshair's place in sheet.x
  onZoom?: (zoomed: boolean) => void;
  onNear?: (key: string | null) => void;
}

/** The lines in sight. */
export function visible({ lines, hidden }: Pick<View, "lines" | "hidden">): Line[] {
  return lines.filter((line) => !hidden?.has(line.key));
}

/** The visible line after or before the one that stands out, round and round. */
export function nextLine(view: View, by: 1 | -1): string | null {
  const keys = visible(view).map((line) => line.key);
  const lit = keys.filter((key) => view.lit?.has(key));
  const from = lit.length === 1 ? keys.indexOf(lit[0] ?? "") : by > 0 ? -1 : 0;
  return keys.at((from + by) % Math.max(1, keys.length)) ?? null;
}
