import { expect, test } from "vitest";
import { pathsOfSeries } from "@/features/experiment-list/CurveThumbnail";
import { curve } from "../testing/curves";

/** Return the heights of the points of the single path of a series. */
function heights(name: string, ...values: number[]) {
  const [path = ""] = pathsOfSeries(name, new Map([[1, curve(...values)]]));
  return path.match(/(?<= )[\d.-]+/g)?.map(Number);
}

test("accuracies that are shares lie between 0 and 1, and those of 90 to 95 fill the thumbnail", () => {
  expect(heights("heldout_accuracy", 0, 0.5, 1)).toEqual([34, 18, 2]);
  expect(heights("heldout_accuracy", 90, 92.5, 95)).toEqual([34, 18, 2]);
});
