/** Figures of an answer as text. */
import type { AnswerAxis, AnswerFigure, AnswerGroup, FigureSpread } from "@/shared/api/types";
import { formatNumber, formatPercent, MISSING } from "@/shared/format/number";
import { formatDuration, formatStepTime } from "@/shared/format/time";

const MINUTE = 60;
export const BEST_ACCURACY = "best(heldout_accuracy)"; // the name of its figure

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
export function placeText({ label, x, y }: AnswerGroup, axes: PictureAxes): string {
  const parts = [
    x === null || !axes.x ? "" : `${axes.x.name} ${tickText(x, axes.x)}`,
    y === null || !axes.y ? "" : `${axes.y.name} ${tickText(y, axes.y)}`,
    label,
  ];
  return parts.filter(Boolean).join(", ");
}

/** The numeric axes of a picture. */
export interface PictureAxes {
  x: AnswerAxis | null;
  y: AnswerAxis | null;
}

const [DIGITS, MOST_DIGITS] = [6, 17]; // 17 tell all floats apart

/** Return a value of an axis as it is written in a spec: 0.0001, 16384; with the digits that tell it from the others. */
export function tickText(value: number, { values }: AnswerAxis): string {
  const rounded = (digits: number) => (one: number) => String(Number(one.toPrecision(digits)));
  let digits = DIGITS;
  while (digits < MOST_DIGITS && new Set(values.map(rounded(digits))).size < values.length) digits += 1;
  return rounded(digits)(value);
}
