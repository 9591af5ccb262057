/** The zoomed range of the charts' x axis, which the address of the page holds as "from" and "to". */
import { useMemo } from "react";
import { changeAddress, currentAddress, useAddress } from "@/shared/page/address";
import type { StepRange } from "./view";

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
