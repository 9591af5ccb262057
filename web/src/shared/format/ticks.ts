/** The texts of an axis's ticks: exact enough that no two of them are alike. */
import { formatTick } from "./number";

/** Return a value of an axis as text; with its distance from the next tick. */
export type Tick = (value: number, distance?: number) => string;

export const CHARACTER_PX = 7.2; // the widest digit of the font of the axes, at 12 px

/** Return the text of each tick. */
export function tickTexts(ticks: readonly number[], tick: Tick = formatTick): string[] {
  return ticks.map((value, at) => {
    const around = [ticks[at - 1], ticks[at + 1]].flatMap((other) => other ?? []);
    const distance = Math.min(...around.map((other) => Math.abs(other - value)));
    return Number.isFinite(distance) ? tick(value, distance) : tick(value);
  });
}

/** Return the width of the longest text, in pixels. */
export function widthOf(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length)) * CHARACTER_PX;
}
