/** Positions on an answer's axis, and the groups of its lines. */
import type { AnswerAxis, AnswerGroup } from "@/shared/api/types";
import type { Position } from "@/shared/plot/scales";

/** Return the position of a value of the axis in pixels, from `from` to `to`. */
export function axisPosition({ scale, values }: AnswerAxis, from: number, to: number): Position {
  const at = scale === "linear" ? (value: number) => value : (value: number) => Math.log2(value);
  const [low, high] = [at(values[0] ?? 0), at(values.at(-1) ?? 1)];
  if (high === low) return () => (from + to) / 2;
  return (value) => from + ((at(value) - low) / (high - low)) * (to - from);
}

/** Return means and ends of error bars. */
export function extremesOf({ figure }: AnswerGroup): number[] {
  if (!figure) return [];
  const { mean, deviation } = figure;
  return deviation ? [mean - deviation, mean + deviation] : [mean];
}

/** Return the groups of each label, in the order of the first of each. */
export function byLabel(groups: AnswerGroup[]): Map<string, AnswerGroup[]> {
  const found = new Map<string, AnswerGroup[]>();
  for (const group of groups) found.set(group.label, [...(found.get(group.label) ?? []), group]);
  return found;
}
