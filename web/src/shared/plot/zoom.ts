/** The zoom of an x axis: the shown range, and the ways of the pointer to move it. */

/** The shown range: moved, made narrower or wider, and never beyond the full range. */
export type Range = readonly [from: number, to: number];

const LEAST = 1e-6; // of the full range: narrower ones have no numbers for their ticks

/** Return the range moved by a share of its width; at an end of the full range it stops. */
export function moved([from, to]: Range, [low, high]: Range, share: number): Range {
  const by = Math.min(Math.max((to - from) * share, low - from), high - to);
  return [from + by, to + by];
}

/** Return the range made wider by a factor (narrower below 1) around a center, whose place stays. */
export function scaled([from, to]: Range, [low, high]: Range, factor: number, center: number): Range {
  if ((to - from) * factor >= high - low) return [low, high];
  if (factor < 1 && (to - from) * factor < (high - low) * LEAST) return [from, to];
  const wider: Range = [center - (center - from) * factor, center + (to - center) * factor];
  return moved(wider, [low, high], 0);
}

/** Return the range with so many digits that a thousandth of its width is exact: a link of it is short. */
export function rounded([from, to]: Range): Range {
  const digits = Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / (to - from))) + 4;
  const round = (value: number) => Number(value.toPrecision(Math.min(15, Math.max(3, digits))));
  return [round(from), round(to)];
}

/**
 * The pointer's ways to move the range of x: a drag with the Shift key, and the wheel, sideways.
 *
 * Call `move` with the share of the width by which the range moves; return a function that ends this.
 */
export function listenForMoves(
  host: HTMLElement,
  canMove: () => boolean,
  move: (share: number) => void,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const width = () => host.querySelector(".u-over")?.clientWidth ?? host.clientWidth;

  function onMouseDown(down: MouseEvent): void {
    if (!down.shiftKey || down.button !== 0 || !canMove()) return;
    down.stopPropagation(); // without Shift a drag chooses a range
    down.preventDefault();
    const drag = new AbortController();
    const until = { signal: AbortSignal.any([signal, drag.signal]) };
    let x = down.clientX;
    window.addEventListener(
      "mousemove",
      (event) => {
        move((x - event.clientX) / width());
        x = event.clientX;
      },
      until,
    );
    window.addEventListener(
      "mouseup",
      () => {
        drag.abort();
      },
      until,
    );
  }

  function onWheel(event: WheelEvent): void {
    if (Math.abs(event.deltaX) <= Math.abs(event.deltaY) || !canMove()) return;
    event.preventDefault(); // else some browsers go to the page before
    move(event.deltaX / width());
  }

  host.addEventListener("mousedown", onMouseDown, { capture: true, signal });
  host.addEventListener("wheel", onWheel, { passive: false, signal });
  return () => {
    controller.abort();
  };
}

/**
 * Calls that come in quick series.
 *
 * Return a function that calls `apply` at once, and after a quick series of calls once more.
 */
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
