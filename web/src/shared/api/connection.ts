/** The state of the connection: whether the service answers, and since when it does not. */
import { useSyncExternalStore } from "react";

export interface Outage {
  reason: string;
  since: Date;
  signedOut: boolean; // a sign-in ends the outage
}

const NO_ANSWER = "The service does not answer.";
const SIGNED_OUT = "You are signed out, or the session has ended.";
const FORGET_MS = 15_000; // no page requests a path that has been idle for so long

let outage: Outage | null = null;
let unreachable: string | null = null; // the reason why no request gets an answer
const failing = new Map<string, { at: number; reason: string }>(); // path -> its last server error
const listeners = new Set<() => void>();

/** Record that the service does not answer any request. */
export function recordUnreachable(): void {
  unreachable = NO_ANSWER;
  update();
}

/** Record that the service refuses all requests of this browser until its user signs in. */
export function recordSignedOut(): void {
  unreachable = SIGNED_OUT;
  update();
}

/** Record that the service answers this path with a server error; other paths may work. */
export function recordServerError(path: string, detail = "internal error"): void {
  unreachable = null;
  failing.set(path, { at: Date.now(), reason: `The service reports an error: ${detail}.` });
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
  const since = outage?.since ?? new Date();
  outage = reason === null ? null : { reason, since, signedOut: reason === SIGNED_OUT };
  listeners.forEach((listener) => {
    listener();
  });
}

function currentReason(): string | null {
  for (const [path, { at }] of failing) if (Date.now() - at > FORGET_MS) failing.delete(path);
  const [first] = failing.values();
  return unreachable ?? first?.reason ?? null;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
