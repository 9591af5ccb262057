/** How often to ask again; TanStack Query asks nothing while the tab is hidden. */
const LIVE_MS = 1000; // with the service's own 1.5 s a curve stays within 3 s of its trainer
const CALM_MS = 5000;

export function pace(live: boolean): number {
  return live ? LIVE_MS : CALM_MS;
}
