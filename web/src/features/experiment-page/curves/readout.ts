/** What can be read off the overlaid curves: the one that stands out, or the only one in sight. */
import type { RunView } from "@/shared/api/types";
import type { Sheet, Values } from "@/shared/curves/column";
import { placeText, type Unit } from "@/shared/format/position";
import { valuesText } from "@/shared/format/value";
import type { SeriesKind } from "@/shared/series/catalog";
import type { Line } from "@/shared/plot/view";
import { visible } from "@/shared/plot/view";
import type { Selection } from "@/features/experiment-page/useSelection";

interface Drawn {
  lines: Line[];
  sheet: Sheet;
  runs: ReadonlyMap<string, RunView>; // by the keys of their lines
  kind: SeriesKind;
  unit: Unit;
}

/** "Run 12, rate 0.4, batch 512: 93.10% at step 480", at the crosshair; null while several curves stand out. */
export function readingOf(drawn: Drawn, { hidden, lit }: Selection, index: number | null): string | null {
  const { lines, sheet, runs, kind, unit } = drawn;
  const shown = visible({ lines, hidden });
  const picked = shown.filter(({ key }) => lit?.has(key));
  const [line, another] = picked.length ? picked : shown;
  const run = line && runs.get(line.key);
  if (!run || another) return null;
  const column = sheet.ys[lines.indexOf(line)];
  const at = placeAt(column, index);
  const values = valuesText(run.values);
  const place = placeText(sheet.x[at] ?? 0, unit);
  return `Run ${run.id}${values && `, ${values}`}: ${kind.format(column?.[at])} at ${place}`;
}

/** The crosshair's place, or the last one before it that has a value. */
function placeAt(column: Values | undefined, index: number | null): number {
  if (!column) return 0;
  let at = Math.min(index ?? column.length - 1, column.length - 1);
  while (at > 0 && typeof column[at] !== "number") at -= 1;
  return at;
}
