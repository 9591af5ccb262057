/** The JSON schema of a spec, as the form reads it. */

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  enum?: (string | number)[];
  const?: string;
  default?: unknown;
  examples?: unknown[];
  items?: Schema;
}

export interface Field {
  name: string;
  schema: Schema; // without references, and without the alternative null
  isRequired: boolean;
  description: string;
  initial: unknown; // the value without the field; undefined if the field is required
  example: unknown;
}

export type Input = "text" | "number" | "switch" | "choice" | "variants" | "object" | "json";

/** Return a schema without reference and without the alternative null. */
export function resolve(schema: Schema, root: Schema): Schema {
  if (schema.$ref !== undefined) {
    const { $ref, ...own } = schema;
    const target = root.$defs?.[$ref.replace("#/$defs/", "")];
    return target ? { ...resolve(target, root), ...own } : own;
  }
  const parts = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  const [only] = parts;
  if (!only || parts.length > 1) return schema;
  const own = Object.fromEntries(Object.entries(schema).filter(([name]) => name !== "anyOf"));
  return { ...resolve(only, root), ...own };
}

/** Return the fields of an object, the required ones first. */
export function fieldsOf(schema: Schema, root: Schema): Field[] {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([name, part]) => {
    const resolved = resolve(part, root);
    return {
      name,
      schema: resolved,
      isRequired: required.has(name),
      description: resolved.description ?? "",
      initial: part.default,
      example: part.examples?.[0],
    };
  });
  return fields.sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** Return the variants of a union by their kind, null if the schema is none. */
export function variantsOf(schema: Schema, root: Schema): Record<string, Schema> | null {
  const { discriminator, oneOf } = schema;
  if (discriminator)
    return Object.fromEntries(
      Object.entries(discriminator.mapping).map(([kind, $ref]) => [kind, resolve({ $ref }, root)]),
    );
  if (!oneOf) return null;
  const known = oneOf.map((part) => resolve(part, root));
  const kinds = known.map(({ properties }) => properties?.kind?.const);
  if (kinds.some((kind) => kind === undefined)) return null;
  return Object.fromEntries(kinds.map((kind, index) => [String(kind), known[index] ?? {}]));
}

const INPUTS: Partial<Record<string, Input>> = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "switch",
};

/** Return which input a value of this schema needs. */
export function inputOf(schema: Schema, root: Schema): Input {
  if (variantsOf(schema, root)) return "variants";
  if (schema.enum) return "choice";
  if (schema.type === "object") return schema.properties ? "object" : "json";
  return INPUTS[schema.type ?? ""] ?? "json";
}

/** Return the value with which an added field begins. */
export function firstValue(field: Field, root: Schema): unknown {
  const { schema, initial, example } = field;
  if (initial !== undefined && initial !== null) return initial;
  if (example !== undefined) return example;
  const variants = variantsOf(schema, root);
  if (variants) return { kind: Object.keys(variants)[0] };
  if (schema.enum) return schema.enum[0];
  return { object: {}, switch: true, number: 1, text: "" }[inputOf(schema, root) as string] ?? [];
}
