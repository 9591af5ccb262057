/** The range of y of the overlaid curves, where the whole range would hide what they differ in. */
import { useMemo } from "react";
import type { Aligned } from "@/shared/curves/column";
import type { Line } from "@/shared/plot/view";
import { resultRange, robustRange, type YRange } from "@/shared/plot/yRange";
import type { CurveOptions } from "./useCurveOptions";

interface Overlay {
  lines: Line[];
  aligned: Aligned;
}

export function useYRange(
  { lines, aligned }: Overlay,
  { kind, logarithmic, whole }: CurveOptions,
  hidden: ReadonlySet<string>,
): { range: YRange | null; hasRange: boolean } {
  const keys = lines.map(({ key }) => key).join(" ");
  const found = useMemo(() => {
    const shown = keys.split(" ");
    const ys = aligned.ys.filter((_, index) => !hidden.has(shown[index] ?? ""));
    if (kind.ceiling === 1) return resultRange(ys);
    return logarithmic && kind.logarithmic ? null : robustRange(ys);
  }, [aligned, keys, hidden, kind, logarithmic]);
  return { range: whole ? null : found, hasRange: found !== null };
}
