/** The data of a chart as lines of a CSV file. */
import type { CsvValue } from "@/shared/files/csv";
import { type View, visibleLines } from "./view";

/** Return a line for each point that the chart draws; the heads name the line, the x axis and the value. */
export function csvOfChart(
  view: Pick<View, "lines" | "aligned" | "hidden">,
  heads: readonly [line: string, x: string, value: string],
): CsvValue[][] {
  const { lines, aligned } = view;
  const rows = visibleLines(view).flatMap((line) =>
    (aligned.ys[lines.indexOf(line)] ?? []).flatMap((value, at): CsvValue[][] =>
      value === undefined ? [] : [[line.key, aligned.x[at] ?? null, value]],
    ),
  );
  return [[...heads], ...rows];
}
