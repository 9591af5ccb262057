/** The pointer's ways to move the range of x: a drag with the Shift key, and the wheel, sideways. */

/** Call `move` with the share of the width by which the range moves; return a function that ends this. */
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
