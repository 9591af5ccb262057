/** The intervals of polling; TanStack Query does not poll while the tab is hidden. */
import { useIsLive } from "@/shared/live/stream";

const LIVE_MS = 1000; // with the scheduler's own second a curve stays within 3 s of its trainer
const IDLE_MS = 5000;
const REPORTED_MS = 60_000; // sentences that only the time changes, such as how long a job is overdue

/** Return the interval in milliseconds: short for data that changes with each step. */
export function pollInterval(live: boolean): number {
  return live ? LIVE_MS : IDLE_MS;
}

/** Return the same for data whose changes a stream reports: while there is one, almost nothing is polled. */
export function usePollInterval(): (live: boolean) => number {
  const isLive = useIsLive();
  return isLive ? () => REPORTED_MS : pollInterval;
}
