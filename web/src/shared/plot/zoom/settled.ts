/** Calls that come in quick series. */

/** Return a function that calls `apply` at once, and after a quick series of calls once more. */
export function settled(apply: () => void, pauseMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    if (timer === undefined) apply();
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      apply();
    }, pauseMs);
  };
}
