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
