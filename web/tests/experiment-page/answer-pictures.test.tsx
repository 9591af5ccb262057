import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { tickText } from "@/features/experiment-page/answer/figureText";
import { HeatMap } from "@/features/experiment-page/answer/pictures/HeatMap";
import { LineMarks } from "@/features/experiment-page/answer/pictures/LineMarks";
import { axisPosition, errorBar } from "@/features/experiment-page/answer/scales";
import { robustRange, roundTicks, spacedTicks } from "@/shared/plot/scales";
import { aGroup, anAnswer, aSpread } from "../testing/answers";

test("batches are evenly spread on a log2 axis", () => {
  const at = axisPosition({ path: "batch", name: "batch", scale: "log2", values: [64, 128, 256] }, 0, 100);
  expect([64, 128, 256].map(at)).toEqual([0, 50, 100]);
});

test("one value of an axis stands in its middle", () => {
  expect(axisPosition({ path: "b", name: "b", scale: "linear", values: [3] }, 0, 100)(3)).toBe(50);
});

test("ticks are round numbers within the range", () => {
  expect(roundTicks(0.9512, 0.9848, 5)).toEqual([0.96, 0.97, 0.98]);
  expect(roundTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(roundTicks(3, 3, 5)).toEqual([3]);
});

test("ticks without room are left out, but not the last", () => {
  expect(spacedTicks([1, 2, 3, 4, 5], (value) => value * 10, 20)).toEqual([1, 3, 5]);
});

test("a mean that leaves the others readable is inside the range, however far it is from most of them", () => {
  const means = [0.9926, 0.9889, 0.9871, 0.986, 0.985, 0.984, 0.98, 0.97, 0.9, 0.82];
  expect(robustRange(means)).toEqual({ low: 0.82, high: 0.9926, cut: 0 });
});

test("error bars end where the figure can have no values", () => {
  const spread = { count: 2, mean: 2, deviation: 3, least: 0, most: 4 };
  const figure = { name: "run_s", title: "running time", unit: "seconds" as const, higher_is_better: false };
  expect(errorBar(spread, figure)).toEqual([0, 5]);
  expect(errorBar({ ...spread, mean: 0.9, deviation: 0.2 }, { ...figure, unit: "share" })).toEqual([0.7, 1]);
  expect(errorBar(spread, { ...figure, name: "quux", unit: "number" })).toEqual([-1, 5]);
});

test("values of an axis have the digits that tell them apart", () => {
  const axis = { path: "lr", name: "lr", scale: "linear" as const, values: [0.1234567, 0.1234568] };
  expect(axis.values.map((value) => tickText(value, axis))).toEqual(["0.1234567", "0.1234568"]);
  expect(tickText(0.1 + 0.2, { ...axis, values: [0.1 + 0.2] })).toBe("0.3");
});

test("one value far out does not flatten the others, and is counted", () => {
  expect(robustRange([0.95, 0.96, 0.97, 0.98, 0.1])).toEqual({ low: 0.95, high: 0.98, cut: 1 });
  expect(robustRange([0.95, 0.96, 0.1])).toEqual({ low: 0.1, high: 0.96, cut: 0 });
});

const FIGURE = { name: "loss", title: "loss", unit: "number" as const, higher_is_better: false };
const axis = (name: string, values: number[]) => ({ path: name, name, scale: "linear" as const, values });

test("a cell far out has a mark, and the line below names its value", () => {
  const means = [0.95, 0.96, 0.97, 0.98, 60];
  const groups = means.map((mean, at) => aGroup({ x: at, y: 1, figure: aSpread(mean) }));
  render(
    <HeatMap
      answer={anAnswer({ picture: "heat_map", groups })}
      figure={FIGURE}
      x={axis("a", [0, 1, 2, 3, 4])}
      y={axis("b", [1])}
    />,
  );
  const map = screen.getByRole("img", { name: /loss by a and b/ });
  expect(within(map).getByTitle(/^a 4, b 1/).className).toMatch(/farCell/);
  expect(within(map).getByTitle(/^a 3, b 1/).className).not.toMatch(/farCell/);
  expect(screen.getByText(/^1 value far out, .* left of the cell: 60/)).toBeVisible();
});

test.each([
  [1, "M0 40V60M-5 40h10M-5 60h10"],
  [9, "M0 0V100"],
])("an error bar of %d on each side has a cap at each end within the picture alone", (deviation, path) => {
  const frame = { width: 100, top: 0, bottom: 100, low: 0, high: 10, atX: () => 0 };
  const group = aGroup({ x: 1, figure: aSpread(5, deviation, 2) });
  const { container } = render(
    <svg>
      <LineMarks
        groups={[group]}
        figure={FIGURE}
        frame={{ ...frame, atY: (value) => 10 * value }}
        color="red"
        dash={[]}
        pointed={null}
        onPoint={() => undefined}
      />
    </svg>,
  );
  expect(container.querySelector("path")?.getAttribute("d")).toBe(path);
});
