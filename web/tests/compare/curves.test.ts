import { expect, test } from "vitest";
import { csvOfLines } from "@/features/compare/curves/CurvesPanel";
import { linesOf } from "@/features/compare/curves/lines";
import { gridOf, meanAndBand, valuesAt } from "@/features/compare/curves/means";
import { indexAt, movedPoint, nearestPoint } from "@/features/compare/curves/nearest";
import { rangeOf } from "@/features/compare/curves/ranges";
import type { ComparedCurve } from "@/shared/api/types";

function curve(
  run_id: number,
  values: (number | null)[],
  change: Partial<ComparedCurve> = {},
): ComparedCurve {
  const steps = values.map((_, at) => at + 1);
  return {
    run_id,
    width: 1,
    last_step: values.length,
    steps,
    mean: values,
    min: null,
    max: null,
    not_finite: [],
    devices: 1,
    restarts: [],
    ...change,
  };
}

function group(key: string, ...ids: number[]) {
  return { key, label: key, ids, color: "#123456", dash: [] };
}

const PLAIN = { axis: "step", isLog: false, smoothing: 0, isMean: false } as const;

test("the mean is taken between the points of each curve, where half of the curves have a value", () => {
  const curves = [
    { x: [0, 2, 4], y: [0, 2, 4] },
    { x: [0, 4], y: [2, 2] },
    { x: [0, 1], y: [4, 4] },
  ];
  const found = meanAndBand(curves, [0, 1, 2, 4]);
  expect(found.y).toEqual([2, 7 / 3, 2, 3]);
  expect(found.high[0]).toBeCloseTo(2 + 2); // of 0, 2 and 4
  expect(found.low[2]).toBe(2); // of 2 and 2
  expect(meanAndBand([...curves, curves[2] ?? { x: [], y: [] }, { x: [0], y: [0] }], [3]).y).toEqual([null]);
});

test("one curve has a mean and no band", () => {
  const found = meanAndBand([{ x: [1, 2], y: [5, 6] }], [1, 2]);
  expect([found.y, found.low, found.high]).toEqual([
    [5, 6],
    [null, null],
    [null, null],
  ]);
});

test("a gap is bridged, and there is no value beyond the ends", () => {
  expect(valuesAt({ x: [1, 2, 3], y: [1, null, 3] }, [0, 1, 2, 3, 4])).toEqual([null, 1, 2, 3, null]);
});

test("positions are evenly spread on a logarithmic axis", () => {
  const grid = gridOf([{ x: [0, 1, 100], y: [1, 1, 1] }], true, 3);
  expect(grid[0]).toBe(1);
  expect(grid[1]).toBeCloseTo(10);
  expect(grid[2]).toBe(100);
  expect(gridOf([], false)).toEqual([]);
});

test("a spike of one bucket is in the line, and smoothing draws it pale behind", () => {
  const spiky = curve(
    7,
    Array.from({ length: 100 }, () => 1),
    {
      width: 10,
      last_step: 1000,
      steps: Array.from({ length: 100 }, (_, at) => at * 10),
      min: Array.from({ length: 100 }, () => 0.5),
      max: Array.from({ length: 100 }, (_, at) => (at === 50 ? 25 : 1.5)),
    },
  );
  const curves = new Map([[7, spiky]]);
  const [raw] = linesOf([group("a", 7)], curves, new Map(), PLAIN);
  expect(Math.max(...(raw?.points.y ?? []).map(Number))).toBe(25);
  expect(raw?.raw).toBeNull();
  const [smoothed] = linesOf([group("a", 7)], curves, new Map(), { ...PLAIN, smoothing: 1 / 12 });
  expect(Math.max(...(smoothed?.points.y ?? []).map(Number))).toBe(1);
  expect(smoothed?.raw?.y).toEqual(raw?.points.y);
});

test("smoothing is a mean over a share of the curve, without a lag", () => {
  const ramp = curve(
    1,
    Array.from({ length: 48 }, (_, at) => at),
  );
  const noisy = curve(
    2,
    Array.from({ length: 48 }, (_, at) => at % 2),
  );
  const options = { ...PLAIN, smoothing: 1 / 4 };
  const [straight, flat] = linesOf(
    [group("a", 1), group("b", 2)],
    new Map([
      [1, ramp],
      [2, noisy],
    ]),
    new Map(),
    options,
  );
  expect(straight?.points.y[24]).toBeCloseTo(24);
  expect(Number(flat?.points.y[24])).toBeGreaterThan(0.4);
  expect(Number(flat?.points.y[24])).toBeLessThan(0.6);
});

test("groups have one line each with the band over their runs", () => {
  const curves = new Map([
    [1, curve(1, [1, 1, 1])],
    [2, curve(2, [3, 3, 3])],
    [3, curve(3, [7, 7, 7])],
  ]);
  const lines = linesOf([group("a", 1, 2), group("b", 3), group("c", 4)], curves, new Map(), {
    ...PLAIN,
    isMean: true,
  });
  expect(lines.map(({ key, runs }) => [key, runs])).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  const [first, second] = lines;
  expect(first?.label).toBe("a (mean of 2)");
  expect(first?.points.y[0]).toBe(2);
  expect(first?.band?.high[0]).toBeCloseTo(2 + Math.SQRT2);
  expect(second?.band).toBeNull();
  const csv = csvOfLines(lines, { axis: "step", metric: "loss", isMean: true });
  expect(csv[0]?.slice(0, 4)).toEqual(["group", "runs", "step", "mean(loss)"]);
  expect(csv[1]?.slice(0, 4)).toEqual(["a (mean of 2)", 2, 1, 2]);
});

test("a run without the series of the axis has no line", () => {
  const curves = new Map([[1, curve(1, [1, 2, 3])]]);
  expect(linesOf([group("a", 1)], curves, new Map(), { ...PLAIN, axis: "epoch" })).toEqual([]);
  const [line] = linesOf(
    [group("a", 1)],
    curves,
    new Map([[1, curve(1, [1], { steps: [2], last_step: 2 })]]),
    {
      ...PLAIN,
      axis: "epoch",
    },
  );
  expect(line?.points.x).toEqual([0.5, 1, 1.5]);
});

test("the point nearest to the pointer is found, and keys move along a line and to the next one", () => {
  const lines = linesOf(
    [group("a", 1), group("b", 2)],
    new Map([
      [1, curve(1, [10, 20, 30])],
      [2, curve(2, [100, 100, 100])],
    ]),
    new Map(),
    PLAIN,
  );
  const same = (value: number) => value;
  expect(nearestPoint(lines, [2.2, 22], same, same)).toEqual({ line: 0, index: 1 });
  expect(nearestPoint(lines, [2, 90], same, same)).toEqual({ line: 1, index: 1 });
  expect(nearestPoint(lines, [2, 500], same, same)).toBeNull();
  expect(indexAt([1, 5, 9], 6.9, same)).toBe(1);
  expect(movedPoint(lines, null, "ArrowLeft")).toEqual({ line: 0, index: 1 });
  expect(movedPoint(lines, { line: 0, index: 2 }, "ArrowDown")).toEqual({ line: 1, index: 2 });
  expect(movedPoint(lines, { line: 0, index: 2 }, "x")).toEqual({ line: 0, index: 2 });
});

test("a curve is not read behind its end, nor before its begin, but a few pixels beyond a point", () => {
  const lines = linesOf(
    [group("short", 1), group("long", 2), group("late", 3)],
    new Map([
      [1, curve(1, [10, 10])],
      [2, curve(2, [60, 60, 60, 60])],
      [3, curve(3, [90], { steps: [4], last_step: 4 })],
    ]),
    new Map(),
    PLAIN,
  );
  const atX = (step: number) => 40 * step;
  const same = (value: number) => value;
  const lineAt = (px: number, py: number) => nearestPoint(lines, [px, py], atX, same)?.line ?? null;
  expect([80, 88, 100, 150].map((px) => lineAt(px, 12))).toEqual([0, 0, 1, 1]);
  expect([152, 160, 168].map((px) => lineAt(px, 92))).toEqual([2, 2, 2]);
  expect([150, 140, 40].map((px) => lineAt(px, 92))).toEqual([1, 1, 1]);
  expect([32, 30, 169].map((px) => lineAt(px, 60))).toEqual([1, null, null]);
});

test("a curve far out leaves the picture and is counted, until the whole range is wanted", () => {
  const curves = new Map([1, 2, 3, 4, 5].map((id) => [id, curve(id, [id === 5 ? 1e6 : 1 + id / 10, 1])]));
  const lines = linesOf([group("a", 1, 2, 3, 4, 5)], curves, new Map(), PLAIN);
  const range = rangeOf(lines, { yLog: false, isWhole: false });
  expect(range.cut).toBe(1);
  expect(range.high).toBeLessThan(2);
  expect(rangeOf(lines, { yLog: false, isWhole: true }).high).toBeGreaterThan(1e6);
  expect(rangeOf(lines, { yLog: false, isWhole: true, zoom: { low: 1.5, high: 3 } }).high).toBeLessThan(2);
});
