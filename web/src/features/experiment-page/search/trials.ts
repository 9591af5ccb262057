/** The trials of a search as text and colors. */
import type { SearchDetail, TrialView } from "@/shared/api/types";
import { ramp } from "@/shared/plot/palette";
import { seriesKind } from "@/shared/series/catalog";
import type { Theme } from "@/shared/theme/theme";

/** Return the title of a metric, and its values as text. */
export function metricFormat(metric: string) {
  const { title, format } = seriesKind(metric);
  return { title, format };
}

/** Return the trials with the best first; those without a value last. */
export function ranked({ trials, maximizes }: Pick<SearchDetail, "trials" | "maximizes">): TrialView[] {
  const sign = maximizes ? -1 : 1;
  const rank = ({ value }: TrialView) => (value === null ? Infinity : sign * value);
  return trials.toSorted((one, other) => {
    const [a, b] = [rank(one), rank(other)];
    return a === b ? one.number - other.number : a - b;
  });
}

/** Return the color of each trial by its rank: the best ones are at the dark end of the ramp. */
export function colorsOf(order: readonly TrialView[], theme: Theme): Map<number, string> {
  const known = order.filter(({ value }) => value !== null);
  return new Map(
    known.map(({ number }, index) => [number, ramp(index / Math.max(1, known.length - 1), theme)]),
  );
}
