/** The addresses of what can be done with chosen runs: their export, and the page that compares them. */
import { serviceAddress } from "@/shared/page/root";
import type { Asked } from "./useRunTable";

export const FORMATS = [
  ["csv", "CSV"],
  ["parquet", "Parquet"],
  ["jsonl", "JSON lines"],
] as const;

export type ExportFormat = (typeof FORMATS)[number][0];
export type What = "runs" | "points";

/** Return the address of GET /export/runs or /export/points: a file with all runs of the query, or all their points. */
export function exportAddress(what: What, format: ExportFormat, asked: Asked): string {
  const { where, q, sort, columns, archived, experiment, runs = [] } = asked;
  const query = new URLSearchParams({ format });
  if (where.trim()) query.set("where", where);
  if (q.trim()) query.set("q", q.trim());
  if (archived) query.set("archived", "true");
  if (experiment !== undefined) query.set("experiment", String(experiment));
  for (const run of runs) query.append("run", String(run));
  if (what === "runs") {
    if (sort) query.set("sort", sort);
    for (const column of columns) query.append("column", column);
  }
  return serviceAddress(`/api/v1/export/${what}?${query.toString()}`);
}

export const MOST_COMPARED = 500; // runs of one comparison

export function compareAddress(ids: readonly number[]): string {
  return `/compare?runs=${ids.join(",")}`;
}
