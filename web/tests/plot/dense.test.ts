import { expect, test } from "vitest";
import { columnsOf, pixelsOf } from "@/shared/plot/dense";

const same = (value: number) => value;
const place = (width: number) => ({ width, height: 100, toX: same, toY: same });
const ends = (columns: ReturnType<typeof columnsOf>) =>
  columns && [...columns.low].map((low, at) => [low, columns.high[at]]);

test("a line covers each column from its least to its greatest y, and the columns between two points", () => {
  const found = columnsOf([0, 2, 4], [0, 8, 4], [0, 2], place(5), 0);
  expect(ends(found)).toEqual([
    [0, 4],
    [4, 8],
    [6, 8],
    [4, 6],
    [4, 4],
  ]);
});

test("a spike of one point is in its column, steps without a value are passed over, and a gap is left open", () => {
  const found = columnsOf([0, 0.5, 1.5, 2.5, 3.5], [1, undefined, 50, null, 1], [0, 4], place(4), 0);
  const [first, spike, gap, last] = ends(found) ?? [];
  expect(first).toEqual([1, expect.closeTo(33.67, 1)]);
  expect(spike).toEqual([expect.closeTo(33.67, 1), 50]);
  expect(gap).toEqual([NaN, NaN]);
  expect(last).toEqual([1, 1]);
});

test("a part of a line outside of the picture covers nothing, and one that crosses it does", () => {
  expect(ends(columnsOf([-10, 10], [0, 20], [0, 1], place(2), 0))).toEqual([
    [10, 11],
    [11, 12],
  ]);
  expect(ends(columnsOf([-10, -5], [0, 20], [0, 1], place(2), 0))).toEqual([
    [NaN, NaN],
    [NaN, NaN],
  ]);
});

test("a line that hardly goes up and down has strokes", () => {
  const [xs, ys] = [
    [0, 1, 2, 3],
    [0, 10, 0, 10],
  ];
  expect(columnsOf(xs, ys, [0, 3], place(4), 31)).toBeNull();
  expect(columnsOf(xs, ys, [0, 3], place(4), 30)).not.toBeNull();
});

test("the picture has each line as thick as it is, the later ones above, and nothing beyond its edges", () => {
  const columns = (low: number, high: number) => ({
    low: Float32Array.of(low, NaN),
    high: Float32Array.of(high, NaN),
  });
  const lines = [
    { columns: columns(0, 3), color: 1, width: 2, dash: [] },
    { columns: columns(2, 2), color: 2, width: 0.2, dash: [] },
  ];
  expect([...pixelsOf(lines, 2, 4)]).toEqual([1, 0, 1, 0, 2, 0, 1, 0]);
});

test("a dashed line leaves out columns", () => {
  const line = { low: new Float32Array(7), high: new Float32Array(7) };
  const pixels = pixelsOf([{ columns: line, color: 1, width: 1, dash: [2, 1] }], 7, 1);
  expect([...pixels]).toEqual([1, 1, 0, 1, 1, 0, 1]);
});

test("what a line does beyond the picture makes it no dense one, and a picture without pixels has none", () => {
  const far = [0, 1e5, 0, 1e5, 0];
  expect(columnsOf([0, 1, 2, 3, 4], far, [0, 4], place(5), 401)).toBeNull();
  expect(columnsOf([0, 1, 2, 3, 4], far, [0, 4], place(5), 400)).not.toBeNull();
  expect(columnsOf([0, 1], [0, 9], [0, 1], { ...place(-34), height: 0 }, 0)).toBeNull();
});
