/** Lines of values as comma-separated values, for spreadsheets. */

export type CsvValue = string | number | boolean | null;

/** Return the lines as one text; the first line has the heads. */
export function csvText(lines: readonly (readonly CsvValue[])[]): string {
  return lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
}

/** Quote a text that a spreadsheet would read in another way. */
function csvCell(value: CsvValue): string {
  const text = value === null ? "" : String(value);
  const isFormula = typeof value === "string" && /^[=+\-@\t\r]/.test(text); // a spreadsheet would carry it out
  const plain = isFormula ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
