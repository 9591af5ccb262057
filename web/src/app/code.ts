/** The files of code that load after the first one. */

const AGAIN_MS = 60_000;
const COMPLETE_MS = 3_000; // after the code of a page: its data are most often there
const RELOADED = "bigbatch.reloaded";

let isAhead = false; // code loads that no page needs yet

/** Call `load` when the page shows its data and the browser has nothing else to do. A failure is met again when needed. */
export function loadWhenIdle(load: () => Promise<unknown>): void {
  const begin = () => {
    isAhead = true;
    load()
      .catch(() => null)
      .finally(() => {
        isAhead = false;
      });
  };
  setTimeout(() => {
    // Safari has had no idle callbacks for long
    if ("requestIdleCallback" in window) window.requestIdleCallback(begin);
    else begin();
  }, COMPLETE_MS);
}

/**
 * Reload the page when a file of its code is gone, because the service was upgraded.
 *
 * At most once a minute, because without a network the files stay away.
 */
export function reloadWithoutCode(): void {
  window.addEventListener("vite:preloadError", (event) => {
    if (isAhead) return; // no page needs it, and a reload would take away what the reader has typed
    const last = Number(sessionStorage.getItem(RELOADED));
    if (Date.now() - last < AGAIN_MS) return;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    event.preventDefault();
    window.location.reload();
  });
}
