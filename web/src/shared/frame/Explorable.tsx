/** A picture of which the pointer and the keyboard read the points: a text above it names what is there. */
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import { classNames } from "@/shared/page/classNames";
import { listenForMoves } from "@/shared/plot/zoom";
import styles from "./Explorable.module.css";

interface Props extends PointerUses {
  label: string;
  readout: string | null; // of the point; null without one
  at: number; // index of the point among `count`
  count: number;
  onKey: (key: string, shiftKey: boolean) => boolean; // whether the key has a meaning
  onMove?: ((share: number) => void) | null; // moves a zoomed range of x by a share of the width
  children: ReactNode;
}

export function Explorable({ label, readout, at, count, onPointer, onKey, onDrag, onMove, children }: Props) {
  const { drag, handlers } = usePointer({ onPointer, onDrag });
  const host = useMoveGestures(onMove ?? null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") onPointer(null);
    else if (event.ctrlKey || event.metaKey || !onKey(event.key, event.shiftKey)) return;
    event.preventDefault();
  };
  return (
    <>
      <p className={classNames("small muted", styles.readoutLine)} data-testid="readout">
        {readout ?? "\u00a0"}
      </p>
      <div
        ref={host}
        className={styles.explorable}
        role="slider"
        tabIndex={0}
        aria-label={`${label}, points`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, count - 1)}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={readout ?? "press an arrow key to read the points"}
        {...handlers}
        onKeyDown={onKeyDown}
        onBlur={() => {
          onPointer(null);
        }}
      >
        {children}
        {drag && <DrawnRange {...drag} />}
      </div>
    </>
  );
}

function DrawnRange({ from, to }: Drag) {
  return <div className={styles.dragged} style={{ left: Math.min(from, to), width: Math.abs(to - from) }} />;
}

interface Drag {
  from: number;
  to: number;
}

interface PointerUses {
  onPointer: (place: readonly [number, number] | null) => void;
  onDrag?: ((from: number, to: number) => void) | undefined; // from one x to another
}

type Event = PointerEvent<HTMLDivElement>;

/**
 * The pointer on a picture: its place, once for each frame, and a range that it draws across, in pixels.
 *
 * Return the range that is being drawn, and the handlers of the element.
 */
function usePointer({ onPointer, onDrag }: PointerUses) {
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

type Move = ((share: number) => void) | null; // null: the picture is not zoomed

/**
 * The pointer's ways to move a zoomed picture: a drag with the Shift key, and the wheel, sideways.
 *
 * Return the reference for the element of the picture.
 */
function useMoveGestures(onMove: Move): RefObject<HTMLDivElement | null> {
  const host = useRef<HTMLDivElement>(null);
  const current = useRef<Move>(null);
  useEffect(() => {
    current.current = onMove;
  });
  useEffect(() => {
    if (!host.current) return;
    return listenForMoves(
      host.current,
      () => current.current !== null,
      (share) => current.current?.(share),
    );
  }, []);
  return host;
}
