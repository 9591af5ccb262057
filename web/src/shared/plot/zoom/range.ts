/** The shown range of x: moved, made narrower or wider, and never beyond the full range. */
export type Range = readonly [from: number, to: number];

const LEAST = 1e-6; // of the full range: narrower ones have no numbers for their ticks

/** Return the range moved by a share of its width; at an end of the full range it stops. */
export function moved([from, to]: Range, [low, high]: Range, share: number): Range {
  const by = Math.min(Math.max((to - from) * share, low - from), high - to);
  return [from + by, to + by];
}

/** Return the range made wider by a factor (narrower below 1) around a center, whose place stays. */
export function scaled([from, to]: Range, [low, high]: Range, factor: number, center: number): Range {
  if ((to - from) * factor >= high - low) return [low, high];
  if (factor < 1 && (to - from) * factor < (high - low) * LEAST) return [from, to];
  const wider: Range = [center - (center - from) * factor, center + (to - center) * factor];
  return moved(wider, [low, high], 0);
}

/** Return the range with so many digits that a thousandth of its width is exact: a link of it is short. */
export function rounded([from, to]: Range): Range {
  const digits = Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / (to - from))) + 4;
  const round = (value: number) => Number(value.toPrecision(Math.min(15, Math.max(3, digits))));
  return [round(from), round(to)];
}
