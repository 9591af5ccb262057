/** An axis of parallel coordinates: numbers or words, with the place of each value in pixels. */
import { type Tick, tickTexts } from "@/shared/format/ticks";
import { axisOf, extentOf, padded } from "@/shared/frame/axis";
import type { Position } from "@/shared/plot/scales";

export interface ValueAxis {
  ticks: { at: number; text: string }[];
  place: (value: unknown) => number | null; // in pixels; null without a value
}

interface Texts {
  unit: (high: number) => number; // in which ticks are round numbers, for values up to `high`
  tick: Tick;
  word: (value: unknown) => string;
}

const MOST_WORDS = 20; // of an axis

/** Return the axis of values from `from` (the least value) to `to` pixels. */
export function valueAxis(values: readonly unknown[], from: number, to: number, texts: Texts): ValueAxis {
  if (values.length && values.every((value): value is number => typeof value === "number"))
    return numberAxis(values, from, to, texts);
  const words = [...new Set(values.map(texts.word))].sort().slice(0, MOST_WORDS);
  const at: Position = (index) =>
    words.length > 1 ? from + ((to - from) * index) / (words.length - 1) : (from + to) / 2;
  return {
    ticks: words.map((text, index) => ({ at: at(index), text })),
    place: (value) => {
      const index = value === null || value === undefined ? -1 : words.indexOf(texts.word(value));
      return index < 0 ? null : at(index);
    },
  };
}

/** Numbers over more than two powers of ten are on a logarithmic axis. */
function numberAxis(values: readonly number[], from: number, to: number, { unit, tick }: Texts): ValueAxis {
  const extent = extentOf(values) ?? { low: 0, high: 1 };
  const isLog = extent.low > 0 && extent.high / extent.low > 100;
  const shown = extent.high > extent.low ? extent : padded(extent, isLog);
  const axis = axisOf(shown, isLog, from, to, { count: 4, unit: unit(shown.high) });
  const distinct = [...new Set(values)].sort((one, other) => one - other);
  const ticks = distinct.length <= 6 ? distinct : axis.ticks;
  const shownTexts = tickTexts(ticks, tick);
  return {
    ticks: ticks.map((value, at) => ({ at: axis.at(value), text: shownTexts[at] ?? "" })),
    place: (value) => (typeof value === "number" ? axis.at(value) : null),
  };
}
