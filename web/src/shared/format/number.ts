/** Numbers as text: four significant digits, SI prefixes, a constant width. */
export const MISSING = "–";

const PREFIXES = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e4, "k"],
] as const;

const LARGEST = 1e15; // from here on no prefix is common

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

/** Return a share between 0 and 1 in percent: 94.92%. */
export function formatPercent(share: number | null | undefined, digits = 2): string {
  return share === null || share === undefined ? MISSING : `${(share * 100).toFixed(digits)}%`;
}

/** Return an integer with separators: 12,345. */
export function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

/** Return a size of memory: 512 MB, 3.2 GB. */
export function formatMemory(value: number | null | undefined): string {
  if (value === null || value === undefined) return MISSING;
  return value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${Number((value / 1e9).toPrecision(3))} GB`;
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

/** Return a short number for an axis: 0.05, 1.5k, 2e-4, 1e18. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= LARGEST))
    return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
  const [unit, prefix] = [...PREFIXES.slice(0, 3), [1e3, "k"] as const].find(([from]) => size >= from) ?? [
    1,
    "",
  ];
  return `${Number((value / unit).toPrecision(4))}${prefix}`;
}

function isNumber(value: number | null | undefined): value is number {
  return Number.isFinite(value);
}
