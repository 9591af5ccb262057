/** Numbers as people read them: four significant digits, SI prefixes, nothing that jumps in width. */
export const NOTHING = "–";

const PREFIXES = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e4, "k"],
] as const;

/** A measured value to four significant digits: 0.1235, 12.35, 12.35k, 1.235e-5. */
export function figure(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(digits - 1);
  const [unit, prefix] = PREFIXES.find(([from]) => size >= from) ?? [1, ""];
  // from 10k on a prefix stands for three digits, so "12.35k" and not "12k"
  const scaled = value / (prefix === "k" ? 1e3 : unit);
  if (!prefix && size >= 1000) return count(Math.round(value));
  return `${scaled.toPrecision(digits)}${prefix}`.replace("e+", "e");
}

/** A share between 0 and 1: 94.92%. */
export function percent(share: number | null | undefined, digits = 2): string {
  return share === null || share === undefined ? NOTHING : `${(share * 100).toFixed(digits)}%`;
}

/** A whole number with its thousands set apart: 12,345. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** A size in memory: 512 MB, 3.2 GB. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  return value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${Number((value / 1e9).toPrecision(3))} GB`;
}

/** "1 run", "12 runs". */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A short tick on an axis: 0.05, 1.5k, 2e-4. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return Number(value.toPrecision(3)).toExponential();
  const [unit, prefix] = [...PREFIXES.slice(0, 3), [1e3, "k"] as const].find(([from]) => size >= from) ?? [
    1,
    "",
  ];
  return `${Number((value / unit).toPrecision(4))}${prefix}`;
}
