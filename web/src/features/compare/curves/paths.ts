/** The paths of lines and bands in pixels. */
import type { Position } from "@/shared/plot/scales";
import type { Band, Points } from "./means";

/** Return the path of a line; a gap, and a value that an axis does not have, ends a part of it. */
export function linePath({ x, y }: Points, atX: Position, atY: Position): string {
  let path = "";
  let isOpen = false;
  for (const [index, value] of y.entries()) {
    const [px, py] = [atX(x[index] ?? Number.NaN), value === null ? Number.NaN : atY(value)];
    if (Number.isNaN(px + py)) {
      isOpen = false;
      continue;
    }
    path += `${isOpen ? "L" : "M"}${rounded(px)} ${rounded(py)}`;
    isOpen = true;
  }
  return path;
}

/** Return the path around a band; where its lower edge has no place on a logarithmic axis, at the picture's bottom. */
export function bandPath({ x, low, high }: Band, atX: Position, atY: Position, bottom: number): string {
  const parts: string[] = [];
  let [upper, lower]: [string[], string[]] = [[], []];
  const close = () => {
    if (upper.length > 1) parts.push(`M${upper.join("L")}L${lower.toReversed().join("L")}Z`);
    [upper, lower] = [[], []];
  };
  for (const [index, at] of x.entries()) {
    const [from, to] = [low[index] ?? null, high[index] ?? null];
    const [px, top] = [atX(at), to === null ? Number.NaN : atY(to)];
    if (from === null || Number.isNaN(px + top)) {
      close();
      continue;
    }
    const below = atY(from);
    upper.push(`${rounded(px)} ${rounded(top)}`);
    lower.push(`${rounded(px)} ${rounded(Number.isNaN(below) ? bottom : below)}`);
  }
  close();
  return parts.join("");
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
