/** The rows of the table as comma-separated values, for spreadsheets. */
import type { TableRow } from "@/shared/api/types";

/** Return a line of heads and a line for each row. */
export function csvOf(columns: string[], rows: TableRow[]): string {
  const heads = ["run", "experiment", "state", ...columns];
  const lines = rows.map(({ id, experiment_id, state, cells }) => [id, experiment_id, state, ...cells]);
  return [heads, ...lines].map((line) => line.map(cellOf).join(",")).join("\n") + "\n";
}

/** Quote a text that a spreadsheet would read in another way. */
function cellOf(value: string | number | boolean | null): string {
  const text = value === null ? "" : String(value);
  const isFormula = typeof value === "string" && /^[=+\-@\t\r]/.test(text); // a spreadsheet would carry it out
  const plain = isFormula ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** Let the browser store a text as a file. */
export function saveText(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
