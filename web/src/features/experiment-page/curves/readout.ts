/** The readout of the overlaid curves: the value of the single curve that is highlighted or visible. */
import type { RunView } from "@/shared/api/types";
import type { Aligned, Values } from "@/shared/curves/column";
import { atPosition, type Unit } from "@/shared/format/position";
import { valuesText } from "@/shared/format/value";
import { type Line, visibleLines } from "@/shared/plot/view";
import type { SeriesKind } from "@/shared/series/catalog";
import type { Selection } from "../useSelection";

interface Drawn {
  lines: Line[];
  aligned: Aligned;
  runs: ReadonlyMap<string, RunView>; // by the keys of their lines
  kind: SeriesKind;
  unit: Unit;
}

/** Return "Run 12, rate 0.4, batch 512: 93.10% at step 480" at the crosshair; null for several curves. */
export function readoutText(
  drawn: Drawn,
  { hidden, highlighted }: Pick<Selection, "hidden" | "highlighted">,
  index: number | null,
): string | null {
  const { lines, aligned, runs, kind, unit } = drawn;
  const visible = visibleLines({ lines, hidden });
  const selected = visible.filter(({ key }) => highlighted?.has(key));
  const [line, another] = selected.length ? selected : visible;
  const run = line && runs.get(line.key);
  if (!run || another) return null;
  const column = aligned.ys[lines.indexOf(line)];
  const at = indexWithValue(column, index);
  const values = valuesText(run.values);
  const position = atPosition(aligned.x[at] ?? 0, unit);
  return `Run ${run.id}${values && `, ${values}`}: ${kind.format(column?.[at])} ${position}`;
}

/** Return the index of the crosshair, or the last index before it that has a value. */
function indexWithValue(column: Values | undefined, index: number | null): number {
  if (!column) return 0;
  let at = Math.min(index ?? column.length - 1, column.length - 1);
  while (at > 0 && typeof column[at] !== "number") at -= 1;
  return at;
}
