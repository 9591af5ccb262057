/** Whether the service answers, and since when not. */
import { useSyncExternalStore } from "react";

export interface Silence {
  why: string;
  since: Date;
}

const TROUBLE = "The service is in trouble; it may come back by itself.";
const FORGET_MS = 15_000; // a path that is not asked for so long is on no page any more

let silence: Silence | null = null;
let unheard: string | null = null; // why nothing is heard at all
const troubles = new Map<string, number>(); // when each path that is in trouble said so last
const listeners = new Set<() => void>();

/** The service does not answer, whatever it is asked. */
export function noteSilence(why: string): void {
  unheard = why;
  settle();
}

/** It answers, but not this path; others may go on meanwhile. */
export function noteTrouble(path: string): void {
  unheard = null;
  troubles.set(path, Date.now());
  settle();
}

export function noteAnswer(path: string): void {
  unheard = null;
  troubles.delete(path);
  settle();
}

/** Null while the service answers. */
export function useSilence(): Silence | null {
  return useSyncExternalStore(subscribe, () => silence);
}

function settle(): void {
  for (const [path, at] of troubles) if (Date.now() - at > FORGET_MS) troubles.delete(path);
  const why = unheard ?? (troubles.size ? TROUBLE : null);
  if (why === (silence?.why ?? null)) return;
  silence = why === null ? null : { why, since: silence?.since ?? new Date() };
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
