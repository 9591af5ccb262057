/**
 * What a chart shows of its curves, in as many buckets as it may have pixels.
 *
 * The address of the page holds the x axis as "x", and its zoomed range as "from" and "to".
 */
import { useMemo } from "react";
import { changeAddress, currentAddress, useAddress } from "@/shared/page/address";
import { readAxis, type XAxis } from "./xAxis";

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

/** The change of an address that shows the whole range: after another choice of x the old numbers mean nothing. */
export const WHOLE = { from: "", to: "" };

export function useZoom(): StepRange {
  const address = useAddress();
  const [from, to] = [numberOf(address.get("from")), numberOf(address.get("to"))];
  return useMemo(() => (from < to ? [from, to] : null), [from, to]);
}

/** Write a range into the address; the back button leaves the zoom, not each of its moves. */
export function changeZoom(range: StepRange): void {
  const isFirst = range !== null && !currentAddress().has("from");
  changeAddress(range ? { from: String(range[0]), to: String(range[1]) } : WHOLE, isFirst);
}

function numberOf(text: string | null): number {
  return text === null || text.trim() === "" ? Number.NaN : Number(text);
}

export function useAxis(): XAxis {
  return readAxis(useAddress().get("x"));
}

/** Choose another axis, which is another view: the zoomed range was one of the axis before. */
export function changeAxis(axis: XAxis): void {
  changeAddress({ x: axis === "step" ? "" : axis, ...WHOLE }, true);
}
