/** The intervals of polling; TanStack Query does not poll while the tab is hidden. */
const LIVE_MS = 1000; // with the scheduler's own 1.5 s a curve stays within 3 s of its trainer
const IDLE_MS = 5000;

/** Return the interval in milliseconds: short for data that changes with each step. */
export function pollInterval(live: boolean): number {
  return live ? LIVE_MS : IDLE_MS;
}
