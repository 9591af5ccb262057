/** The colors of lines: distinct in both themes, also for color-blind readers. */
import type { Theme } from "@/shared/theme/theme";

/** Colors for categories: seven of Okabe and Ito (2008), darker in the light theme and lighter in the dark one, and five more. */
const CATEGORIES: Record<Theme, string[]> = {
  light: [
    "#1f5fb0",
    "#c2541b",
    "#12866a",
    "#a8458a",
    "#8a6d00",
    "#3b3d37",
    "#278bb2",
    "#b5303f",
    "#5f8f1f",
    "#6b4fc4",
    "#8f5b3a",
    "#d0629a",
  ],
  dark: [
    "#74b3f5",
    "#f08a4b",
    "#3fc79d",
    "#e08cc4",
    "#e5c84a",
    "#d5d6cd",
    "#8fdcff",
    "#ff8f94",
    "#a9d95f",
    "#b3a1ff",
    "#cfa27e",
    "#ffb3d9",
  ],
};

/** Colors for ordered values: similar to viridis, without its palest colors in the light theme. */
const RAMP: Record<Theme, string[]> = {
  light: ["#6d2a8c", "#3a5fc0", "#16858c", "#5a9a32", "#b98300"],
  dark: ["#9a7ae0", "#6f9fe8", "#3fbfb5", "#8fd16a", "#f3e26b"],
};

/** The number of categories that have colors of their own. */
export const MOST_CATEGORIES = CATEGORIES.light.length;

export function category(index: number, theme: Theme): string {
  const colors = CATEGORIES[theme];
  return colors[index % colors.length] ?? "";
}

/** Return the color at `share` (0 to 1) of the ramp. */
export function ramp(share: number, theme: Theme): string {
  const stops = RAMP[theme];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[low] ?? "", stops[low + 1] ?? "", at - low);
}

/** Line patterns for a second axis; the first is a solid line. */
export const DASHES: number[][] = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

function mix(from: string, to: string, share: number): string {
  const channel = (color: string, at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) => Math.round(channel(from, at) * (1 - share) + channel(to, at) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
