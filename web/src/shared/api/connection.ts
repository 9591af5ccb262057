/** Whether the service answers, and since when not. */
import { useSyncExternalStore } from "react";

export interface Silence {
  why: string;
  since: Date;
}

let silence: Silence | null = null;
const listeners = new Set<() => void>();

export function noteAnswer(): void {
  if (silence) change(null);
}

export function noteSilence(why: string): void {
  if (silence?.why !== why) change({ why, since: silence?.since ?? new Date() });
}

/** Null while the service answers. */
export function useSilence(): Silence | null {
  return useSyncExternalStore(subscribe, () => silence);
}

function change(to: Silence | null): void {
  silence = to;
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
