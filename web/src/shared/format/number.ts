/** Numbers as text: four significant digits, SI prefixes, a constant width. */
export const MISSING = "–";

const PREFIXES = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e4, "k"],
] as const;

const LARGEST = 1e15; // from here on no prefix is common
const MOST_DIGITS = 17; // of a number of 64 bits

const SUFFIXES: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

/** Return a measured value with four significant digits: 0.1235, 12.35, 12.35k, 1.235e-5, 2.306e38. */
export function formatNumber(value: number | null | undefined, digits = 4): string {
  if (!isNumber(value)) return MISSING;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= LARGEST))
    return value.toExponential(digits - 1).replace("e+", "e");
  const [unit, prefix] = PREFIXES.find(([from]) => size >= from) ?? [1, ""];
  // The prefix k stands for three digits: 12,345 is 12.35k.
  const scaled = value / (prefix === "k" ? 1e3 : unit);
  if (!prefix && size >= 1000) return formatCount(Math.round(value));
  return `${scaled.toPrecision(digits)}${prefix}`.replace("e+", "e");
}

/** Return a share between 0 and 1 in percent: 94.92%; a value beyond these is no share, but a number. */
export function formatShare(value: number | null | undefined): string {
  return isNumber(value) && !isShare(value) ? formatNumber(value) : formatPercent(value);
}

export function isShare(value: number): boolean {
  return value >= 0 && value <= 1;
}

/** Return a part of a whole in percent: 94.92%. */
export function formatPercent(share: number | null | undefined, digits = 2): string {
  return share === null || share === undefined ? MISSING : `${(share * 100).toFixed(digits)}%`;
}

/** Return an integer with separators: 12,345. */
export function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

/** Return a size of memory: 512 MB, 3.2 GB. */
export function formatMemory(value: number | null | undefined, distance?: number): string {
  if (value === null || value === undefined) return MISSING;
  if (value < 1e9)
    return `${distance ? formatTick(value / 1e6, distance / 1e6) : Math.round(value / 1e6)} MB`;
  return `${Number((value / 1e9).toPrecision(Math.max(3, digitsOf(value, distance))))} GB`;
}

/** Return a count with its noun: "1 run", "12 runs". */
export function pluralize(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Return a place: 1st, 2nd, 13th, 1,021st. */
export function ordinal(value: number): string {
  const form = new Intl.PluralRules("en-US", { type: "ordinal" }).select(value);
  return `${formatCount(value)}${SUFFIXES[form] ?? "th"}`;
}

/** Return a short number for an axis: 0.05, 1.5k, 2e-4, 1e18; as exact as a tick needs that is `distance` from the next. */
export function formatTick(value: number, distance?: number): string {
  const size = Math.abs(value);
  const digits = digitsOf(value, distance);
  if (size !== 0 && (size < 1e-3 || size >= LARGEST))
    return Number(value.toPrecision(Math.max(3, digits)))
      .toExponential()
      .replace("e+", "e");
  if (digits > 4 && size >= 1e3) return exactly(value, distance ?? 1);
  const [unit, prefix] = [...PREFIXES.slice(0, 3), [1e3, "k"] as const].find(([from]) => size >= from) ?? [
    1,
    "",
  ];
  return `${Number((value / unit).toPrecision(Math.max(4, digits)))}${prefix}`;
}

/** Return how many digits tell a value from one at a distance; 1 where no distance is known. */
export function digitsOf(value: number, distance = 0): number {
  if (!value || !(distance > 0)) return 1;
  const [own, other] = [Math.abs(value), distance].map((one) => Math.floor(Math.log10(one) + 1e-9));
  return Math.min(MOST_DIGITS, Math.max(1, (own ?? 0) - (other ?? 0) + 1));
}

/** Return a large number with all digits that a distance needs: -1,237.5. */
function exactly(value: number, distance: number): string {
  const decimals = Math.min(20, Math.max(0, -Math.floor(Math.log10(distance) + 1e-9)));
  return value.toLocaleString("en-US", { maximumFractionDigits: decimals });
}

function isNumber(value: number | null | undefined): value is number {
  return Number.isFinite(value);
}

/** Bytes and seconds as text: three digits and a unit. */
const BYTES = [
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
  [1, "B"],
] as const;

const SECONDS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
] as const;

export function formatBytes(amount: number): string {
  return inUnits(amount, BYTES, "B");
}

export function formatSeconds(amount: number): string {
  return inUnits(amount, SECONDS, "µs");
}

function inUnits(amount: number, units: readonly (readonly [number, string])[], least: string): string {
  const [size, unit] = units.find(([size]) => amount >= size) ?? [units.at(-1)?.[0] ?? 1, least];
  const scaled = amount / size;
  return `${scaled >= 1000 ? Math.round(scaled).toLocaleString("en-US") : Number(scaled.toPrecision(3))} ${unit}`;
}
