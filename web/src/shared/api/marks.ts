/** The mark of the newest change: requests that a change causes may share one answer among pages. */

const HEADER = "Bigbatch-After";

let newest = ""; // of the changes that this page knows
let isReacting = false;

/** Remember the mark of the newest change. */
export function setMark(mark: string): void {
  newest = mark;
}

/** Begin requests because of a change: those that begin before `begin` returns have the mark. */
export function reacting<T>(begin: () => T): T {
  isReacting = true;
  try {
    return begin();
  } finally {
    isReacting = false;
  }
}

/** Return the header of a request that begins now; all others need an answer of their own. */
export function markHeader(): Record<string, string> {
  return isReacting && newest ? { [HEADER]: newest } : {};
}
