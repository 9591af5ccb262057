import { expect, test } from "vitest";
import { change, compact, marksOf, placeOf, read } from "@/features/new-experiment/document";

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
  const text =
    "base:\n  seed: 9007199254740993\n  rate: 1.0\n  decay: 1.50\n  list: [0x1f, 1e-3]\n  batch: 1\n";
  expect(change(text, ["base", "batch"], 2)).toBe(text.replace("batch: 1\n", "batch: 2\n"));
});

test("the text of the service gets short lists and objects in a line, and has the same values", () => {
  const text = [
    'name: "08"',
    "base:",
    "  kind: program",
    "  command:",
    "  - python",
    "  - train.py",
    "  parameters:",
    "    seed: 9007199254740993",
    "    lr: 1.0",
    "    empty: {}",
    "    long: a text that is longer than a line of sixty characters has, as texts of people are",
    "axes:",
    "  parameters.lr:",
    "  - 1.0",
    "  - 1e-3",
    "",
  ].join("\n");
  const written = compact(text);
  expect(read(written)).toEqual({ value: read(text).value, problems: [] });
  expect(written).toContain('name: "08"\n');
  expect(written).toContain("  command: [python, train.py]\n");
  expect(written).toContain("seed: 9007199254740993\n");
  expect(written).toContain("lr: 1.0\n");
  expect(written).toContain("axes: {parameters.lr: [1.0, 1e-3]}\n");
  expect(change(written, ["name"], "b")).toBe(written.replace('name: "08"', "name: b"));
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
