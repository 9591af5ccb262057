/** The lines of a spec in YAML. */
export interface SpecLine {
  path: string;
  depth: number;
  key: string;
  value: string; // empty: an object follows
  varied: boolean;
}

/** `varied` holds the dotted paths along which the experiment varies. */
export function specLines(spec: object, varied: ReadonlySet<string>, parents: string[] = []): SpecLine[] {
  return Object.entries(spec).flatMap(([key, value]: [string, unknown]) => {
    const path = [...parents, key].join(".");
    const line = { path, depth: parents.length, key: scalar(key), varied: varied.has(path) };
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return [{ ...line, value: "" }, ...specLines(value, varied, [...parents, key])];
    }
    return [{ ...line, value: scalar(value) }];
  });
}

/** Return a value in YAML: a text that YAML reads as a number or a truth value has quotes. */
function scalar(value: unknown): string {
  return typeof value === "string" && PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}

const PLAIN = /^[A-Za-z_/][\w.+/-]*$/; // a text that begins otherwise may be a number
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
