/** Figures of an answer as text. */
import type { AnswerFigure, AnswerGroup, FigureSpread } from "@/shared/api/types";
import { formatNumber, formatPercent, MISSING } from "@/shared/format/number";
import { formatDuration, formatStepTime } from "@/shared/format/time";

const MINUTE = 60;

export function figureText(value: number, unit: AnswerFigure["unit"]): string {
  if (unit === "share") return formatPercent(value);
  if (unit === "seconds") return secondsText(value);
  return formatNumber(value);
}

export function secondsText(seconds: number): string {
  return seconds < MINUTE ? formatStepTime(seconds) : formatDuration(seconds);
}

/** Return "98.10% ± 0.21": the deviation of a share is in percentage points. */
export function spreadText(spread: FigureSpread | null, unit: AnswerFigure["unit"]): string {
  if (!spread) return MISSING;
  const mean = figureText(spread.mean, unit);
  if (spread.deviation === null) return mean;
  const deviation =
    unit === "share" ? (spread.deviation * 100).toFixed(2) : figureText(spread.deviation, unit);
  return `${mean} ± ${deviation}`;
}

/** Return "1.85×". */
export function speedupText(speedup: number | null): string {
  return speedup === null ? MISSING : `${Number(speedup.toPrecision(3))}×`;
}

/** Return "2 of 3 done, 1 diverged", or nothing where all runs of the group are done. */
export function doneText({ runs, done, diverged }: AnswerGroup): string {
  if (done === runs.length && !diverged) return "";
  return `${done} of ${runs.length} done${diverged ? `, ${diverged} diverged` : ""}`;
}

/** Return the place of a group in its picture: "batch 256, rate 0.4, lars". */
export function placeText({ label, x, y }: AnswerGroup, names: { x?: string; y?: string }): string {
  const parts = [
    x === null ? "" : `${names.x ?? "x"} ${tickText(x)}`,
    y === null ? "" : `${names.y ?? "y"} ${tickText(y)}`,
    label,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Return a value of an axis as it is written in a spec: 0.0001, 16384. */
export function tickText(value: number): string {
  return String(Number(value.toPrecision(6)));
}
