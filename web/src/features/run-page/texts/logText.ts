/** The text of a log as a terminal shows it: of a line that was overwritten its last frame, and no line without end. */
import { formatCount } from "@/shared/format/number";

export const MOST_OF_LINE = 8192; // characters; a longer line is cut, as in a search
const LABEL = /^ {0,8}\d{1,9}: ?/; // of a rank, as srun --label and the agent print it before the first frame

/**
 * Return the lines of a part of a log, as they are shown.
 *
 * `isCut`: the part may begin within a line. `hasLabels`: the number at the beginning of a line is its rank.
 */
export function logText(part: string, { isCut, hasLabels }: { isCut: boolean; hasLabels: boolean }): string {
  const lines = part.split("\n");
  const end = lines.at(-1) === "" ? lines.pop() : undefined;
  const [first = "", ...others] = lines;
  const shown = others.map((line) => shortened(lastFrame(line, hasLabels)));
  if (!isCut) shown.unshift(shortened(lastFrame(first, hasLabels)));
  else if (isOverwritten(first)) shown.unshift(shortened(lastFrame(first, false)));
  else if (!others.length) shown.unshift(endOf(first));
  return shown.join("\n") + (end === undefined ? "" : "\n");
}

/** Return whether a part that may begin within a line has a whole line. */
export function hasWholeLine(part: string): boolean {
  const end = part.indexOf("\n");
  return end >= 0 && end < part.length - 1;
}

function lastFrame(line: string, hasLabels: boolean): string {
  const text = withoutEnd(line);
  const at = text.lastIndexOf("\r");
  if (at < 0) return text;
  const label = (hasLabels && LABEL.exec(text.slice(0, 24))?.[0]) || "";
  return label + text.slice(at + 1);
}

function isOverwritten(line: string): boolean {
  return withoutEnd(line).includes("\r");
}

/** Return a line without the carriage returns at its end: nothing has overwritten it yet. */
function withoutEnd(line: string): string {
  return line.replace(/\r+$/, "");
}

function shortened(line: string): string {
  if (line.length <= MOST_OF_LINE) return line;
  return `${line.slice(0, MOST_OF_LINE)} … [${formatCount(line.length - MOST_OF_LINE)} more characters]`;
}

/** Return the last characters of a line whose beginning is not known. */
function endOf(line: string): string {
  const text = withoutEnd(line).replace(/^\uFFFD+/, ""); // a character that is cut in two
  return `[the beginning of this line is not shown] … ${text.slice(-MOST_OF_LINE)}`;
}
