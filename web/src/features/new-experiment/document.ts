/** A spec as text: its values, changes that leave the rest of the text as it is, and the places of its fields. */
import type { Diagnostic } from "@codemirror/lint";
import { isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from "yaml";
import type { ApiError } from "@/shared/api/client";

const STYLE = { lineWidth: 120, flowCollectionPadding: false };
const EXACT = { intAsBigInt: true }; // integers beyond 2^53 would be rounded, also where nothing changes
const SHORT = 60; // characters of JSON

export type Path = readonly (string | number)[];

interface TextProblem {
  message: string;
  from: number; // offsets in the text
  to: number;
}

export interface Reading {
  value: unknown;
  problems: TextProblem[];
}

/** Return the values of a text; a text with problems has none. */
export function read(text: string): Reading {
  const document = parseDocument(text);
  const problems = document.errors.map(({ message, pos: [from, to] }) => ({
    message: message.split("\n")[0] ?? message,
    from,
    to,
  }));
  return { value: problems.length ? undefined : (document.toJS() as unknown), problems };
}

/** Return a text with lists and objects of a line where they are short. */
export function compact(text: string): string {
  const document = parseDocument(text, EXACT);
  visit(document, {
    Collection: (_, node) => {
      if (node.items.length > 0 && JSON.stringify(node, withoutBigInts).length <= SHORT) node.flow = true;
    },
  });
  return document.toString(STYLE);
}

function withoutBigInts(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value; // JSON has none
}

/** Return the text with another value at a path; `undefined` removes the field. */
export function change(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text, EXACT);
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, document.createNode(value));
  return document.toString(STYLE);
}

/** Return the place of the field with a dotted path, or of the nearest object around it. */
export function placeOf(text: string, dotted: string): { from: number; to: number; line: number } | null {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length || !dotted) return null;
  const found = descend(document.contents, dotted, null);
  if (!found?.range) return null;
  const [from, to] = found.range;
  return { from, to, line: lines.linePos(from).line };
}

/** Return the key of the field, or the item of a list; keys may have dots, as those of axes have. */
function descend(node: Node | null, dotted: string, last: Node | null): Node | null {
  if (!dotted) return last;
  if (isMap(node)) {
    const pairs = node.items
      .filter(({ key }) => isScalar(key) && isPrefix(String(key.value), dotted))
      .sort((a, b) => String(b.key).length - String(a.key).length);
    const [pair] = pairs;
    if (!pair || !isNode(pair.key)) return last;
    const inner = isNode(pair.value) ? pair.value : null;
    return descend(inner, rest(dotted, String(pair.key)), pair.key);
  }
  if (isSeq(node)) {
    const [index = ""] = dotted.split(".");
    const item = node.items[Number(index)];
    return isNode(item) ? descend(item, rest(dotted, index), item) : last;
  }
  return last;
}

function isPrefix(key: string, dotted: string): boolean {
  return dotted === key || dotted.startsWith(`${key}.`);
}

function rest(dotted: string, key: string): string {
  return dotted.slice(key.length + 1);
}

/** The marks of a text: where it cannot be read, and the fields that the service refuses. */
export function marksOf(text: string, problems: TextProblem[], errors: ApiError["fields"]): Diagnostic[] {
  if (problems.length) return problems.map((problem) => ({ severity: "error", ...problem }));
  return errors.flatMap(({ path, message }) => {
    const place = placeOf(text, path);
    return place ? [{ severity: "error", from: place.from, to: place.to, message }] : [];
  });
}
