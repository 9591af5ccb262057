import { expect, test } from "vitest";
import { alignColumns, append, smooth } from "@/shared/curves/column";
import { commandText } from "@/shared/format/command";
import { formatNumber, formatPercent, formatTick, ordinal } from "@/shared/format/number";
import { formatDuration, formatMoment, formatRoughly, formatStepTime } from "@/shared/format/time";
import { axisNames, distinctTexts, valueKey, valuesText, valueText } from "@/shared/format/value";
import { aProgram } from "./testing/service";

test.each([
  [0.123456, "0.1235"],
  [12.3456, "12.35"],
  [1234.5, "1,235"],
  [12345, "12.35k"],
  [9_999_999, "10.00M"],
  [0.00001234, "1.234e-5"],
  [999e12, "999.0T"],
  [2.306e38, "2.306e38"],
  [-1.7e308, "-1.700e308"],
  [0, "0.000"],
  [null, "–"],
])("%s is formatted as %s", (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test("shares, ticks and times are short", () => {
  expect([formatPercent(0.94921), formatTick(1500), formatTick(0.05), formatTick(2e-4)]).toEqual([
    "94.92%",
    "1.5k",
    "0.05",
    "2e-4",
  ]);
  expect([formatDuration(0.25), formatDuration(250), formatDuration(7500)]).toEqual([
    "250 ms",
    "4 min 10 s",
    "2 h 5 min",
  ]);
  expect([formatRoughly(250), formatStepTime(0.0123), formatStepTime(1.234)]).toEqual([
    "4 min",
    "12.3 ms",
    "1.23 s",
  ]);
});

test("the name of an axis is its last word, unless two axes share the word", () => {
  expect([...axisNames(["schedule.rate", "batch"]).values()]).toEqual(["rate", "batch"]);
  expect([...axisNames(["rule.kind", "data.kind"]).values()]).toEqual(["rule kind", "data kind"]);
  expect(valuesText({ collective: { kind: "torus", rows: 2 }, batch: 64 })).toBe(
    "collective torus rows 2, batch 64",
  );
});

test("new points replace the steps that they repeat", () => {
  const known = { steps: [1, 2, 3], values: [1, 1, 1] };
  expect(append(known, { steps: [3, 4], values: [2, 2] }, 2)).toEqual({
    steps: [1, 2, 3, 4],
    values: [1, 1, 2, 2],
  });
  expect(append(known, { steps: [], values: [] }, 3)).toBe(known);
});

test("columns with different steps share one axis without additional gaps", () => {
  const sheet = alignColumns([
    { steps: [1, 2, 3], values: [1, null, 3] },
    { steps: [2], values: [5] },
  ]);
  expect(sheet).toEqual({
    x: [1, 2, 3],
    ys: [
      [1, null, 3],
      [undefined, 5, undefined],
    ],
  });
});

test("smoothing preserves straight lines and gaps", () => {
  const line = Array.from({ length: 400 }, (_, step) => step * 2);
  const smoothed = smooth({ steps: line, values: line.map((value, at) => (at === 200 ? null : value)) });
  expect(smoothed.values[100]).toBeCloseTo(200);
  expect(smoothed.values[200]).toBeNull();
});

test.each([
  [[], "[]"],
  ["", '""'],
  [{}, "{}"],
  [{ milestones: [] }, "milestones []"],
])("the empty value %j is visible as %s", (value, text) => {
  expect(valueText(value)).toBe(text);
});

test.each([
  [1e15, "1e15"],
  [-2.5e18, "-2.5e18"],
  [1e12, "1T"],
])("the tick of %d is %s", (value, text) => {
  expect(formatTick(value)).toBe(text);
});

test("the values of a run have fractions of four digits and whole numbers as they are", () => {
  expect(valuesText({ batch: 32768, "schedule.rate": 0.5430234174379295 })).toBe("batch 32768, rate 0.543");
});

test("a place has the ending of English ordinals", () => {
  const places = [1, 2, 3, 4, 11, 12, 13, 21, 1022, 111].map(ordinal);
  expect(places).toEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "1,022nd", "111th"]);
});

test("a moment names its zone, and the UTC by which queries go", () => {
  expect(formatMoment("2026-11-26T14:03:59Z")).toMatch(/^\d\d\/11\/2026, .+\S+ \(2026-11-26T14:03:59 UTC\)$/);
});

test("values that are different have different keys and texts, equal ones have one key", () => {
  expect(distinctTexts([1, "1", true, "true", "on", null, "none", 0.1234567])).toEqual([
    ...["1", '"1"', "true", '"true"', '"on"', "null", '"none"', "0.1234567"],
  ]);
  expect(valueKey({ kind: "sgd", rate: 1 })).toBe(valueKey({ rate: 1.0, kind: "sgd" }));
  expect(new Set([0, false, "0", null, "null", [0], [false]].map(valueKey)).size).toBe(7);
});

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
