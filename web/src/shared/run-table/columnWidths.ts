/** The widths of the columns of the table of runs: of the heading, and of the longest text in view if there is space. */
import { PAGE, type RunTableData } from "./useRunTable";
import type { RunColumn } from "./RunTable";

export const FIRST_WIDTH = 120; // of the column with the run
const CHARACTER_PX = 7.6; // mean of the font, with some room for wide letters
const PADDING_PX = 24;
const ARROW_PX = 16; // of the order, after the heading
const MOST_PX = 340; // of a heading or a text: a metric's name may have hundreds of characters

/**
 * Return the width of each column in pixels, of which the table has `available` with the first column.
 *
 * The texts are those of all loaded pages with a row in view: not each row that comes changes a width.
 */
export function columnWidths(
  columns: RunColumn[],
  data: RunTableData,
  items: { index: number }[],
  available: number,
): number[] {
  const rows = rowsOfPages(items);
  const least = columns.map(({ title, width }) => Math.max(width, pixels(inTwoLines(title), ARROW_PX)));
  const wanted = columns.map((column, place) => {
    const longest = longestText(column, data, rows);
    return Math.max(least[place] ?? 0, pixels(column.title.length, ARROW_PX), pixels(longest));
  });
  const excess = sum(wanted) + FIRST_WIDTH - available;
  const slack = sum(wanted) - sum(least);
  const share = slack > 0 ? Math.min(1, Math.max(0, excess / slack)) : 0;
  return wanted.map((width, place) => Math.floor(width - share * (width - (least[place] ?? 0))));
}

function longestText({ field, textOf }: RunColumn, data: RunTableData, rows: number[]): number {
  if (!textOf) return 0;
  return rows.reduce((most, index) => {
    const row = data.rowAt(index);
    return row ? Math.max(most, textOf(row, data.cellAt(index, field)).length) : most;
  }, 0);
}

/** Return the numbers of all rows of the pages that have a row in view. */
function rowsOfPages(items: { index: number }[]): number[] {
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  const begin = first - (first % PAGE);
  return Array.from({ length: last - (last % PAGE) + PAGE - begin }, (_, place) => begin + place);
}

/** Return the characters of the longer line of a heading in two lines: where there is no space for one. */
function inTwoLines(title: string): number {
  const words = title.split(" ");
  const breaks = words.map((_, place) =>
    Math.max(words.slice(0, place).join(" ").length, words.slice(place).join(" ").length),
  );
  return Math.min(title.length, ...breaks);
}

function pixels(characters: number, more = 0): number {
  return Math.min(MOST_PX, Math.ceil(characters * CHARACTER_PX + more + PADDING_PX));
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
