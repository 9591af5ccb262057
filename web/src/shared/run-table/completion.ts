/** The completion of a query: what may stand at the cursor, and the text after a choice. */
import type { FieldName } from "@/shared/api/types";
import type { FieldValue } from "./useFieldNames";

/** The place of the cursor in a query. */
export interface Place {
  kind: "name" | "operator" | "value" | "joint"; // joint: and, or
  field: string | null; // of the value
  start: number; // of the word at the cursor
  typed: string; // the word up to the cursor
}

export interface Choice {
  text: string; // what it writes
  label: string;
  hint: string;
}

const TOKEN = /"(?:[^"]|"")*"?|'(?:[^']|'')*'?|`(?:[^`]|``)*`?|[=!<>~]+|[(),]|[^\s()",'`=!<>~]+/g;
const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "~", "in"];
const FIGURES = ["best", "last", "min", "max", "mean"];
const MOST = 12;

/** Return what may stand at the cursor: a field, then an operator, then a value, then `and` or `or`. */
export function placeAt(text: string, cursor: number): Place {
  const before = text.slice(0, cursor);
  const tokens = [...before.matchAll(TOKEN)];
  const last = tokens.at(-1);
  const isInWord = last !== undefined && last.index + last[0].length === cursor && /^[\w"'`.-]/.test(last[0]);
  const typed = isInWord ? last[0] : "";
  const start = cursor - typed.length;
  return { ...follow((isInWord ? tokens.slice(0, -1) : tokens).map(([token]) => token)), start, typed };
}

/** What comes next after each kind of place and its token. */
type Step = (token: string, at: At) => At;

interface At {
  kind: Place["kind"];
  field: string | null;
  within: "list" | "figure" | null; // open brackets
}

const STEPS: Record<Place["kind"], Step> = {
  name: (token, at) => {
    if (token === "(" || token.toLowerCase() === "not") return at;
    return /^["']/.test(token) ? { ...at, kind: "joint" } : { ...at, kind: "operator", field: token };
  },
  operator: (token, at) => {
    if (token === "(") return { ...at, within: "figure" };
    return token.toLowerCase() === "not" ? at : { ...at, kind: "value" };
  },
  value: (token, at) => (token === "(" ? { ...at, within: "list" } : { ...at, kind: "joint" }),
  joint: (token, at) => (/^(and|or)$/i.test(token) ? { ...at, kind: "name", field: null } : at),
};

function follow(tokens: string[]): Pick<Place, "kind" | "field"> {
  let at: At = { kind: "name", field: null, within: null };
  for (const token of tokens) {
    if (at.within === null) at = STEPS[at.kind](token, at);
    else if (token === ")") at = { ...at, kind: at.within === "list" ? "joint" : "operator", within: null };
  }
  // a figure of a metric has numbers
  return { kind: at.kind, field: at.kind === "value" ? at.field : null };
}

/** Return the choices at a place, those that begin with the typed word first. */
export function choicesAt(place: Place, names: FieldName[], values: FieldValue[]): Choice[] {
  const typed = place.typed.replace(/^["'`]/, "").toLowerCase();
  const found = allChoices(place, names, values).filter(({ label }) => label.toLowerCase().includes(typed));
  const rank = ({ label }: Choice) => (label.toLowerCase().startsWith(typed) ? 0 : 1);
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, MOST);
}

function allChoices({ kind, typed }: Place, names: FieldName[], values: FieldValue[]): Choice[] {
  const plain = (words: string[]) => words.map((text) => ({ text, label: text, hint: "" }));
  if (kind === "operator") return typed ? plain(["in", "not in"]) : plain(OPERATORS);
  if (kind === "joint") return plain(["and", "or"]);
  if (kind === "value") return values.map((value) => ({ ...value, hint: "" }));
  return names.flatMap((name) => choicesOf(name, typed));
}

/** A metric is its last value by its name, and has its figures once its name is typed. */
function choicesOf({ name, title, is_metric }: FieldName, typed: string): Choice[] {
  const inside = quotedName(name);
  if (!is_metric) return [{ text: inside, label: name, hint: title }];
  const figures = FIGURES.map((figure) => {
    const text = `${figure}(${inside})`;
    return { text, label: text, hint: "metric" };
  });
  return typed ? figures : figures.slice(0, 1);
}

/** Return the text with a choice in the place of the typed word, and the cursor behind it. */
export function complete(
  text: string,
  { start, typed }: Place,
  choice: Choice,
): [text: string, cursor: number] {
  const rest = text.slice(start + typed.length);
  const written = `${choice.text}${rest.startsWith(" ") ? "" : " "}`;
  return [
    `${text.slice(0, start)}${written}${rest}`,
    start + written.length + (rest.startsWith(" ") ? 1 : 0),
  ];
}

/** Return a name as a query has it: in backticks unless it is one word. */
export function quotedName(name: string): string {
  const isWord = /^[a-z_][\w.:/@-]*$/i.test(name) && !/^(?:and|or|not|in)$/i.test(name);
  return isWord ? name : `\`${name.replaceAll("`", "``")}\``;
}

/** Return the name that a query has in backticks or as one word. */
export function plainName(quoted: string): string {
  return /^`.*`$/s.test(quoted) ? quoted.slice(1, -1).replaceAll("``", "`") : quoted;
}
