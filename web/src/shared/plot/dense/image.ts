/** The picture of dense lines, pixel by pixel: without a GPU, their strokes take far longer (docs/log/pages.md). */
import type { Columns } from "./columns";

export interface DenseLine {
  columns: Columns;
  color: number; // a pixel, as in an ImageData
  width: number; // in pixels
  dash: readonly number[]; // in pixels: drawn, left out, drawn, ...; none: all is drawn
}

/** Return the picture's pixels, row by row; a later line covers an earlier one. */
export function pixelsOf(lines: readonly DenseLine[], width: number, height: number): Uint32Array {
  const byColumn = new Uint32Array(width * height);
  for (const { columns, color, width: thickness, dash } of lines) {
    const { low, high } = columns;
    const isDrawn = dashing(dash);
    for (let column = 0; column < width; column += 1) {
      const least = low[column] ?? NaN;
      if (Number.isNaN(least) || !isDrawn(column)) continue;
      const start = Math.max(0, Math.round(least - thickness / 2));
      const end = Math.min(height, Math.max(start + 1, Math.round((high[column] ?? least) + thickness / 2)));
      if (start < end) byColumn.fill(color, column * height + start, column * height + end);
    }
  }
  return transposed(byColumn, width, height);
}

/** Return whether a column is in a part of the dashes that is drawn. */
function dashing(dash: readonly number[]): (column: number) => boolean {
  const parts = dash.length % 2 ? [...dash, ...dash] : dash;
  const period = parts.reduce((sum, part) => sum + part, 0);
  if (!period) return () => true;
  return (column) => {
    let place = column % period;
    const at = parts.findIndex((part) => (place -= part) < 0);
    return at % 2 === 0;
  };
}

/** Return the pixels row by row. A column is one stretch of memory, so that lines are written quickly. */
function transposed(byColumn: Uint32Array, width: number, height: number): Uint32Array {
  const pixels = new Uint32Array(width * height);
  for (let column = 0; column < width; column += 1) {
    const first = column * height;
    for (let row = 0; row < height; row += 1) pixels[row * width + column] = byColumn[first + row] ?? 0;
  }
  return pixels;
}

const known = new Map<string, number>();

/** Return a color of CSS as a pixel. */
export function pixelOf(color: string): number {
  const found = known.get(color);
  if (found !== undefined) return found;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const ctx = canvas.getContext("2d");
  if (!ctx) return 0;
  ctx.fillStyle = color;
  ctx.fillRect(0, 0, 1, 1);
  const pixel = new Uint32Array(ctx.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
  known.set(color, pixel);
  return pixel;
}
