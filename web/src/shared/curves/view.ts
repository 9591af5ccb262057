/** What a chart shows of its curves: a range of steps, in as many buckets as it may have pixels. */

/** The first and the last step; null for all. */
export type StepRange = readonly [from: number, to: number] | null;

const MOST = 2000;
const MARGIN = 0.1; // of the range on either side, so that lines reach the edges

/** Return how many buckets a chart needs that takes `share` of the window's width. */
export function bucketsOf(share = 1): number {
  return Math.min(MOST, Math.ceil((window.innerWidth * share) / 100) * 100);
}

/** Return the parameters of a request for a range. */
export function rangeQuery(range: StepRange): { from?: number; to?: number } {
  if (!range) return {};
  const margin = (range[1] - range[0]) * MARGIN + 1;
  return { from: Math.max(0, Math.floor(range[0] - margin)), to: Math.ceil(range[1] + margin) };
}
