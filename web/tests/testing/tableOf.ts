/** The answer of GET /runs/table for runs: each requested column has the value that the run's page shows. */
import type { RunView, TablePage } from "@/shared/api/types";

type Cell = TablePage["rows"][number]["cells"][number];

export function tableOf(runs: RunView[]): (url: URL) => TablePage {
  return (url) => {
    const columns = url.searchParams.getAll("column");
    const sort = url.searchParams.get("sort") ?? "";
    const name = sort.replace(/^-/, "");
    const sorted = name
      ? runs.toSorted((one, other) => Number(cellOf(one, name)) - Number(cellOf(other, name)))
      : runs;
    return {
      total: runs.length,
      offset: 0,
      next: null,
      columns: columns.map((column) => ({ name: column, kind: kindOf(column), metric: metricOf(column) })),
      rows: (sort.startsWith("-") ? sorted.toReversed() : sorted).map((run) => ({
        ...run,
        cells: columns.map((column) => cellOf(run, column)),
      })),
    };
  };
}

function metricOf(column: string): string | null {
  return /^(?:last|best|min|max)\((.+)\)$/.exec(column)?.[1]?.replaceAll("`", "") ?? null;
}

function kindOf(column: string): string {
  return metricOf(column) === null && column !== "progress" ? "any" : "number";
}

function cellOf(run: RunView, column: string): Cell {
  const metric = metricOf(column);
  if (/^(best|min|max)\(/.test(column)) return run.objective_value;
  if (metric !== null) return run.latest[metric] ?? null;
  if (column === "progress") return run.steps ? run.step / run.steps : null;
  if (column === "step" || column === "steps" || column === "number") return run[column];
  return (run.values[column] as Cell | undefined) ?? null;
}
