import { expect, test } from "vitest";
import { commandText } from "@/shared/format/command";
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

test("a value that needs quotes stays a placeholder in a line for bash, and is quoted in a list of words", () => {
  const parameters = { title: "two words", lr: 0.1 };
  const line = aProgram({ command: 'x "{title}" {lr} ${lr}', parameters });
  expect(commandText(line)).toBe('x "{title}" 0.1 ${lr}');
  expect(commandText(aProgram({ command: ["x", "{title}"], parameters }))).toBe("x 'two words'");
});
