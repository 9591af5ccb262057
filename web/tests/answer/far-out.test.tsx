import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { HeatMap } from "@/features/experiment-page/answer/pictures/HeatMap";
import { LineMarks } from "@/features/experiment-page/answer/pictures/LineMarks";
import { aGroup, anAnswer, aSpread } from "../testing/answers";

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
