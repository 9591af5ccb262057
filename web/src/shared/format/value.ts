/** Names, values and sentences as text. */

/** Return the shortest unique end of each dotted path: schedule.rate -> rate. */
export function axisNames(paths: string[]): Map<string, string> {
  const leaf = (path: string) => path.split(".").at(-1) ?? path;
  const leaves = paths.map(leaf);
  return new Map(
    paths.map((path) => {
      const alone = leaves.filter((other) => other === leaf(path)).length === 1 && leaf(path) !== "kind";
      return [path, (alone ? leaf(path) : path.split(".").slice(-2).join(" ")).replaceAll("_", " ")];
    }),
  );
}

/** Return a value in one line: 0.4, torus rows 2, on; an empty value as its brackets or quotes. */
export function valueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (value === null || value === undefined) return "none";
  if (value === "") return '""';
  if (Array.isArray(value)) return value.length ? value.map(valueText).join(", ") : "[]";
  if (typeof value !== "object") return JSON.stringify(value).replace(/^"|"$/g, "");
  const fields = Object.entries(value);
  if (!fields.length) return "{}";
  return fields
    .map(([key, inner]) =>
      key === "kind" ? valueText(inner) : `${key.replaceAll("_", " ")} ${valueText(inner)}`,
    )
    .join(" ");
}

/** Return a text that is the same for equal values and another for all others: 1, "1" and true are three values. */
export function valueKey(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}

/** Return a text of each of these different values, as JSON where two would have one text. */
export function distinctTexts<Value>(
  values: readonly Value[],
  textOf: (value: Value) => string = valueText,
): string[] {
  let texts = values.map(textOf);
  for (;;) {
    const found = texts;
    const counts = new Map<string, number>();
    for (const text of found) counts.set(text, (counts.get(text) ?? 0) + 1);
    texts = found.map((text, at) => ((counts.get(text) ?? 0) > 1 ? valueKey(values[at]) : text));
    // the JSON of true may be the text of "true", which then is written as JSON as well
    if (texts.every((text, at) => text === found[at])) return texts;
  }
}

/** Return fractions with four significant digits, since a sampler draws sixteen; whole numbers stay as they are. */
export function shortened(value: unknown): unknown {
  const isFraction = typeof value === "number" && !Number.isInteger(value);
  return isFraction ? Number(value.toPrecision(4)) : value;
}

/** Return the axis values of a run: "rate 0.4, batch 512". */
export function valuesText(values: Record<string, unknown>): string {
  const names = axisNames(Object.keys(values));
  return Object.entries(values)
    .map(([path, value]) => `${names.get(path) ?? path} ${valueText(shortened(value))}`)
    .join(", ");
}

/** Return an object's own value of a name; undefined without one. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Return a text that begins with a capital letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
