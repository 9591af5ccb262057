/** The state of the connection: whether the service answers, and since when it does not. */
import { useSyncExternalStore } from "react";

export interface Outage {
  reason: string;
  since: Date;
}

const SERVER_ERROR = "The service reports an internal error and may recover by itself.";
const FORGET_MS = 15_000; // no page requests a path that has been idle for so long

let outage: Outage | null = null;
let unreachable: string | null = null; // the reason why no request gets an answer
const failing = new Map<string, number>(); // path -> time of its last server error
const listeners = new Set<() => void>();

/** Record that the service does not answer any request. */
export function recordUnreachable(reason: string): void {
  unreachable = reason;
  update();
}

/** Record that the service answers this path with a server error; other paths may work. */
export function recordServerError(path: string): void {
  unreachable = null;
  failing.set(path, Date.now());
  update();
}

/** Record that the service answers this path. */
export function recordAnswer(path: string): void {
  unreachable = null;
  failing.delete(path);
  update();
}

/** Return the outage, or null while the service answers. */
export function useOutage(): Outage | null {
  return useSyncExternalStore(subscribe, () => outage);
}

function update(): void {
  const reason = currentReason();
  if (reason === (outage?.reason ?? null)) return;
  outage = reason === null ? null : { reason, since: outage?.since ?? new Date() };
  listeners.forEach((listener) => {
    listener();
  });
}

function currentReason(): string | null {
  for (const [path, at] of failing) if (Date.now() - at > FORGET_MS) failing.delete(path);
  return unreachable ?? (failing.size ? SERVER_ERROR : null);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
