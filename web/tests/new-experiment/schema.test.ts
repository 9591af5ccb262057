import { expect, test } from "vitest";
import {
  fieldsOf,
  firstValue,
  inputOf,
  type Schema,
  variantsOf,
} from "@/features/new-experiment/form/schema";

const ROOT: Schema = {
  $defs: {
    LARS: {
      type: "object",
      required: ["kind"],
      properties: {
        kind: { const: "lars", type: "string" },
        momentum: { type: "number", default: 0.9, description: "Factor of the momentum." },
        skip: { enum: ["none", "bias_and_norm"], type: "string", default: "none" },
      },
    },
    SGD: { type: "object", properties: { kind: { const: "sgd", type: "string" } } },
  },
  type: "object",
  required: ["batch"],
  properties: {
    notes: { type: "string", default: "" },
    batch: { type: "integer", description: "Samples of a step." },
    optimizer: {
      discriminator: { propertyName: "kind", mapping: { lars: "#/$defs/LARS", sgd: "#/$defs/SGD" } },
      oneOf: [{ $ref: "#/$defs/LARS" }, { $ref: "#/$defs/SGD" }],
      description: "The optimizer.",
    },
    clip: { anyOf: [{ type: "number" }, { type: "null" }], default: null, examples: [1.0] },
    compile: { type: "boolean", default: false },
    tags: { type: "array", default: [], items: { type: "string" } },
  },
};

test("required fields come first, and each has the input of its type", () => {
  const fields = fieldsOf(ROOT, ROOT);
  expect(fields[0]).toMatchObject({ name: "batch", isRequired: true });
  const inputs = Object.fromEntries(fields.map(({ name, schema }) => [name, inputOf(schema, ROOT)]));
  expect(inputs).toEqual({
    batch: "number",
    notes: "text",
    optimizer: "variants",
    clip: "number",
    compile: "switch",
    tags: "json",
  });
});

test("a union has the fields of each kind", () => {
  const optimizer = fieldsOf(ROOT, ROOT).find(({ name }) => name === "optimizer");
  const variants = variantsOf(optimizer?.schema ?? {}, ROOT);
  expect(Object.keys(variants ?? {})).toEqual(["lars", "sgd"]);
  const lars = fieldsOf(variants?.lars ?? {}, ROOT).map(({ name, schema }) => [name, inputOf(schema, ROOT)]);
  expect(lars).toEqual([
    ["kind", "text"],
    ["momentum", "number"],
    ["skip", "choice"],
  ]);
});

test("a field that is added begins with its initial value, an example, or the first kind", () => {
  const first = Object.fromEntries(
    fieldsOf(ROOT, ROOT).map((field) => [field.name, firstValue(field, ROOT)]),
  );
  expect(first).toMatchObject({ clip: 1, compile: false, optimizer: { kind: "lars" }, tags: [], batch: 1 });
});
