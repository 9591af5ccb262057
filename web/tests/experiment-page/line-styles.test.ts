import { expect, test } from "vitest";
import { lineStylesOf } from "@/features/experiment-page/lineStyles";

test.each(["light", "dark"] as const)("the collectives have distinct colors in the %s theme", (theme) => {
  const values = ["native", "auto", "ring", "tree", "torus", "halving", "direct", "bruck", "hybrid", "pair"];
  const axis = { path: "collective.kind", name: "collective kind", values, base: "native" };
  const { color } = lineStylesOf([axis], null, theme);
  expect(new Set(values.map(color)).size).toBe(values.length);
  const hues = ["native", "auto", "ring"].map((value) => hueOf(color(value)));
  const gaps = [0, 1, 2].map((at) => distance(hues[at] ?? 0, hues[(at + 1) % 3] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThan(30);
});

/** Return the distance of two hues on the circle, in degrees. */
function distance(one: number, other: number): number {
  const apart = Math.abs(one - other);
  return Math.min(apart, 360 - apart);
}

/** Return the hue of "#rrggbb" in degrees. */
function hueOf(color: string): number {
  const channel = (at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  const [red, green, blue] = [channel(1), channel(3), channel(5)];
  return (Math.atan2(Math.sqrt(3) * (green - blue), 2 * red - green - blue) * 180) / Math.PI;
}
