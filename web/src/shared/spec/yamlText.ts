/** A document as YAML: nested objects as indented blocks, lists and texts as JSON, which is YAML too. */

const PLAIN = /^[A-Za-z_/][\w./-]*$/;
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i; // words that YAML 1.1 or 1.2 read as no text

export function yamlText(document: object, indent = ""): string {
  return Object.entries(document)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]: [string, unknown]) => {
      const head = `${indent}${scalar(key)}:`;
      if (isObject(value) && Object.keys(value).length) return `${head}\n${yamlText(value, `${indent}  `)}`;
      return `${head} ${scalar(value)}\n`;
    })
    .join("");
}

/** Return the number of the line, from 0, of a field by its dotted path, or of the nearest object around it. */
export function lineOf(text: string, path: string): number | null {
  const parts = path.split(".");
  const lines = keyPaths(text);
  for (let length = parts.length; length > 0; length -= 1) {
    const found = lines.indexOf(parts.slice(0, length).join("."));
    if (found >= 0) return found;
  }
  return null;
}

/** Return the dotted path of the key in each line, by the indentation; undefined for a line without a key. */
function keyPaths(text: string): (string | undefined)[] {
  const parents: { indent: number; key: string }[] = [];
  return text.split("\n").map((line) => {
    const [, space, key] = /^(\s*)"?([^\s:"]+)"?\s*:/.exec(line) ?? [];
    if (space === undefined || key === undefined) return undefined;
    while (parents.length && (parents.at(-1)?.indent ?? 0) >= space.length) parents.pop();
    parents.push({ indent: space.length, key });
    return parents.map((parent) => parent.key).join(".");
  });
}

function scalar(value: unknown): string {
  if (typeof value === "string" && PLAIN.test(value) && !RESERVED.test(value)) return value;
  return JSON.stringify(value);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
