/** The data of a picture of curves as lines of a CSV file. */
import type { CsvValue } from "@/shared/files/csv";
import type { DrawnLine } from "./lines";
import type { CurveOptions } from "./options";

/** Return a line for each point: of single runs the value, of groups mean and band. */
export function csvOfLines(
  lines: readonly DrawnLine[],
  { axis, metric, isMean }: Pick<CurveOptions, "axis" | "metric" | "isMean">,
): CsvValue[][] {
  const heads = isMean
    ? ["group", "runs", axis, `mean(${metric})`, "mean - deviation", "mean + deviation"]
    : ["run", "group", axis, metric];
  const rows = lines.flatMap(({ key, label, runs, points, band }) =>
    points.x.map((x, at): CsvValue[] => {
      const y = points.y[at] ?? null;
      return isMean ? [label, runs, x, y, band?.low[at] ?? null, band?.high[at] ?? null] : [key, label, x, y];
    }),
  );
  return [heads, ...rows];
}
