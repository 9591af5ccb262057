import { expect, test } from "vitest";
import { change, placeOf, read, write } from "@/features/new-experiment/editor/document";
import { marksOf } from "@/features/new-experiment/editor/marks";

const TEXT = `# why this batch
name: a grid # short
base:
  optimizer: {kind: lars, momentum: 0.9}
  schedule:
    rate: 1e-3
  batch: 64
axes:
  optimizer.momentum: [0.9, 0.95]
  batch: [64, 128]
`;

function lineAt(dotted: string): string | undefined {
  const place = placeOf(TEXT, dotted);
  return place ? TEXT.split("\n")[place.line - 1] : undefined;
}

test("a change writes one value, and comments and the rest of the text remain", () => {
  expect(change(TEXT, ["base", "batch"], 256)).toBe(TEXT.replace("batch: 64\n", "batch: 256\n"));
  expect(change(TEXT, ["base", "optimizer", "momentum"], undefined)).toBe(
    TEXT.replace("{kind: lars, momentum: 0.9}", "{kind: lars}"),
  );
  const added = change(TEXT, ["base", "collective"], { kind: "torus", rows: 2 });
  expect(read(added).value).toMatchObject({ base: { batch: 64, collective: { kind: "torus", rows: 2 } } });
  expect(added).toContain("# why this batch");
});

test("a change leaves all other numbers as they are written", () => {
  const text = "base:\n  seed: 9007199254740993\n  rate: 1.0\n  decay: 1.50\n  list: [0x1f, 1e-3]\n  batch: 1\n";
  expect(change(text, ["base", "batch"], 2)).toBe(text.replace("batch: 1\n", "batch: 2\n"));
});

test("a text that looks like a number is written in quotes", () => {
  const document = { sha: "25921e05", day: "08", hex: "0x1F", octal: "0o17", far: ".inf", none: "~", 1: "true" };
  expect(read(write(document)).value).toEqual(document);
  expect(write(document)).not.toMatch(/: (?:25921e05|08|0x1F|0o17|\.inf|~|true)\n/);
});

test("a document is a text that reads as the same values, short lists and objects in a line", () => {
  const document = {
    name: "a: b",
    base: { kind: "program", on: "yes", words: ["x", 1], none: null, empty: {} },
    axes: { "parameters.lr": [0.1, 0.2] },
  };
  const text = write(document);
  expect(read(text)).toEqual({ value: document, problems: [] });
  expect(text).toContain('name: "a: b"\n');
  expect(text).toContain("axes: {parameters.lr: [0.1, 0.2]}\n");
  expect(text.split("\n").length).toBeLessThan(12);
});

test("numbers are those of YAML 1.2, as the service reads them", () => {
  expect(read("a: 1e-3\nb: on\nc: 0.5\n").value).toEqual({ a: 0.001, b: "on", c: 0.5 });
});

test("a text that cannot be read has no values, and names the place", () => {
  const { value, problems } = read("name: [1, 2\nbase: 3\n");
  expect(value).toBeUndefined();
  expect(problems.length).toBeGreaterThan(0);
  expect(marksOf("name: [1, 2\nbase: 3\n", problems, [])[0]).toMatchObject({ severity: "error" });
});

test.each([
  ["base.optimizer.momentum", "  optimizer: {kind: lars, momentum: 0.9}"],
  ["base.schedule.rate", "    rate: 1e-3"],
  ["axes.optimizer.momentum.1", "  optimizer.momentum: [0.9, 0.95]"],
  ["axes.batch.0", "  batch: [64, 128]"],
  ["base.epochs", "base:"],
  ["elsewhere", undefined],
])("the field %s is found", (dotted, line) => {
  expect(lineAt(dotted)).toBe(line);
});

test("each refused field has a mark at its place", () => {
  const [mark] = marksOf(TEXT, [], [{ path: "base.batch", message: "too small", start: null, end: null }]);
  expect(TEXT.slice(mark?.from, mark?.to)).toBe("batch");
  expect(mark?.message).toBe("too small");
});
