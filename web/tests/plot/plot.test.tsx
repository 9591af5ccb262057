import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { formatTick } from "@/shared/format/number";
import { Plot } from "@/shared/plot/Plot";
import type { View } from "@/shared/plot/view";
import { FakeChart } from "../testing/fakeChart";

function viewOf(values: number[]): View {
  return {
    lines: [{ key: "w", label: "w", color: "red" }],
    aligned: { x: values.map((_, at) => at), ys: [values] },
    tick: formatTick,
  };
}

test("an error of one chart stays in its frame, and another chart is drawn", () => {
  vi.spyOn(console, "error").mockReturnValue();
  const show = vi.spyOn(FakeChart.prototype, "show").mockImplementation((view) => {
    if (view.lines.length && view.aligned.ys[0]?.[0] === 7) throw new RangeError("Invalid array length");
  });
  const page = (first: number) => (
    <>
      <Plot {...viewOf([first, 8])} title="bad" readout="" />
      <Plot {...viewOf([1, 2])} title="good" readout="" />
    </>
  );
  const { rerender } = render(page(7));
  expect(screen.getByText("This chart cannot be drawn: Invalid array length.")).toBeVisible();
  expect(screen.queryByRole("slider", { name: "bad, crosshair" })).toBeNull();
  expect(screen.getByRole("slider", { name: "good, crosshair" })).toBeVisible();
  rerender(page(6)); // with other data it is tried again
  expect(screen.getByRole("slider", { name: "bad, crosshair" })).toBeVisible();
  show.mockRestore();
});

test("a log scale without a finite value shows where the values are no numbers", () => {
  const view: View = { ...viewOf([1, 2]), notFinite: [[{ step: 1, kind: "nan" }]] };
  const aligned = { x: [0, 1], ys: [[null, null]] };
  render(<Plot {...view} aligned={aligned} title="w" readout="" logarithmic empty="No value." />);
  expect(screen.getByRole("slider", { name: "w, crosshair" })).toBeVisible();
});

test("a log scale of values at or below 0 is a sentence, not an empty frame", () => {
  const { rerender } = render(<Plot {...viewOf([-2, 0])} title="w" readout="" logarithmic />);
  expect(screen.getByText("No value is above 0, and a log scale has no others.")).toBeVisible();
  rerender(<Plot {...viewOf([-2, 0])} title="w" readout="" />);
  expect(screen.getByRole("slider", { name: "w, crosshair" })).toBeVisible();
});
