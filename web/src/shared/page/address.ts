/** Choices of the reader that the address of the page holds: every view is a link. */
import { useSearchParams } from "wouter";
import { navigate } from "wouter/use-browser-location";

/** New values of parameters; one without a value leaves the address, and its default holds. */
export type AddressChange = Readonly<Record<string, string | readonly string[]>>;

/** Return the parameters of the address, which change with it. */
export function useAddress(): URLSearchParams {
  return useSearchParams()[0];
}

/** Return the parameters of the address at this moment, for a handler that several events may call. */
export function currentAddress(): URLSearchParams {
  return new URLSearchParams(window.location.search);
}

/** Change parameters of the address; with `isView` the browser's back button returns to the view before. */
export function changeAddress(change: AddressChange, isView = false): void {
  const next = currentAddress();
  for (const [name, value] of Object.entries(change)) {
    next.delete(name);
    for (const one of typeof value === "string" ? [value] : value) if (one) next.append(name, one);
  }
  const text = next.toString();
  if (text === currentAddress().toString()) return;
  navigate(window.location.pathname + (text && `?${text}`), { replace: !isView });
}
