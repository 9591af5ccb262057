/**
 * The path below which the service is: "" at the root of its host, "/bigbatch" where a proxy gives it a part.
 *
 * The service writes it into the page. Links and places of the router have no root: the router adds it.
 */
export const ROOT = document.documentElement.dataset.root ?? "";

/** Return the address of a path of the service, as a browser asks for it. */
export function serviceAddress(path: string): string {
  return ROOT + path;
}

/** Return the path of the page's address below the root. */
export function pagePath(): string {
  return isBelowRoot() ? window.location.pathname.slice(ROOT.length) || "/" : "/";
}

/** Go to the same page below the root: a browser that opens the service itself, past the proxy, may leave the root out. */
export function openBelowRoot(): void {
  const { pathname, search, hash } = window.location;
  if (!isBelowRoot()) window.location.replace(ROOT + pathname + search + hash);
}

function isBelowRoot(): boolean {
  const { pathname } = window.location;
  return pathname === ROOT || pathname.startsWith(`${ROOT}/`);
}
