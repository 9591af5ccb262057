/** The last deletion of this tab, which the banner offers to undo; it outlives the page that made it. */
import { useSyncExternalStore } from "react";
import type { Target } from "@/shared/api/target";

export interface LastDeletion {
  targets: readonly Target[];
  name: string; // "run 12", "3 runs"
  until: string; // the moment until which it can be undone at least
}

let last: LastDeletion | null = null;
const listeners = new Set<() => void>();

/** Record a deletion, or with null that the banner is closed. */
export function recordDeletion(deletion: LastDeletion | null): void {
  last = deletion;
  listeners.forEach((listener) => {
    listener();
  });
}

export function useLastDeletion(): LastDeletion | null {
  return useSyncExternalStore(subscribe, () => last);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
