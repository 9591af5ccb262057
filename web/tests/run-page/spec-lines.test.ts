import { expect, test } from "vitest";
import { parse } from "yaml";
import { specLines } from "@/features/run-page/texts/SpecPanel";

test("the lines of a spec are YAML with the same values", () => {
  const spec = {
    kind: "program",
    command: "python train.py --lr {lr}",
    parameters: {
      sha: "25921e05",
      day: "08",
      flag: "true",
      on: "no",
      none: "~",
      minus: "-",
      lr: 0.1,
      list: [1, "2"],
    },
    resources: { kind: "local", ranks_per_node: 2 },
  };
  const text = specLines(spec, new Set())
    .map(({ depth, key, value }) => `${"  ".repeat(depth)}${key}: ${value}\n`)
    .join("");
  expect(parse(text)).toEqual(spec);
  expect(parse(text, { version: "1.1" })).toEqual(spec);
  expect(text).toContain("kind: program\n");
});
