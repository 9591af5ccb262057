import { expect, test } from "vitest";
import { commandText } from "@/shared/program/commandText";
import { aProgram } from "./testing/service";

test.each([
  [-1e-7, "-0.0000001"],
  [2.5e-7, "0.00000025"],
  [1.25e22, "12500000000000000000000.0"],
  [0.1, "0.1"],
  [32, "32"],
  ["1e-7", "1e-7"],
])("the number %s is written as the agent writes it: %s", (lr, word) => {
  expect(commandText(aProgram({ command: "x {lr}", parameters: { lr } }))).toBe(`x ${word}`);
});
