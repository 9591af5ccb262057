/** The x axis of the charts of a page, which the address holds as "x". */
import { changeAddress, useAddress } from "@/shared/page/address";
import { readAxis, type XAxis } from "./xAxis";
import { WHOLE } from "./zoomAddress";

export function useAxis(): XAxis {
  return readAxis(useAddress().get("x"));
}

/** Choose another axis, which is another view: the zoomed range was one of the axis before. */
export function changeAxis(axis: XAxis): void {
  changeAddress({ x: axis === "step" ? "" : axis, ...WHOLE }, true);
}
