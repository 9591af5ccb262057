/** The pointer on a picture: its place, once for each frame, and a range that it draws across, in pixels. */
import { type PointerEvent, useRef, useState } from "react";

export interface Drag {
  from: number;
  to: number;
}

export interface PointerUses {
  onPointer: (place: readonly [number, number] | null) => void;
  onDrag?: ((from: number, to: number) => void) | undefined; // from one x to another
}

type Event = PointerEvent<HTMLDivElement>;

/** Return the range that is being drawn, and the handlers of the element. */
export function usePointer({ onPointer, onDrag }: PointerUses) {
  const frame = useRef(0);
  const [drag, setDrag] = useState<Drag | null>(null);
  const onPointerMove = (event: Event) => {
    const place = placeOf(event);
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      setDrag((before) => before && { ...before, to: place[0] });
      onPointer(place);
    });
  };
  const onPointerLeave = () => {
    cancelAnimationFrame(frame.current);
    onPointer(null);
  };
  const onPointerDown = (event: Event) => {
    // a finger scrolls the page
    if (!onDrag || event.pointerType !== "mouse" || event.button !== 0 || event.shiftKey) return;
    const [at] = placeOf(event);
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag({ from: at, to: at });
  };
  const onPointerUp = (event: Event) => {
    if (drag) onDrag?.(drag.from, placeOf(event)[0]);
    setDrag(null);
  };
  const onPointerCancel = () => {
    setDrag(null);
  };
  return { drag, handlers: { onPointerMove, onPointerLeave, onPointerDown, onPointerUp, onPointerCancel } };
}

function placeOf(event: Event): readonly [number, number] {
  const bounds = event.currentTarget.getBoundingClientRect();
  return [event.clientX - bounds.left, event.clientY - bounds.top];
}
