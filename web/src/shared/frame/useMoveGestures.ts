/** The pointer's ways to move a zoomed picture: a drag with the Shift key, and the wheel, sideways. */
import { type RefObject, useEffect, useRef } from "react";
import { listenForMoves } from "@/shared/plot/zoom/drags";

type Move = ((share: number) => void) | null; // null: the picture is not zoomed

/** Return the reference for the element of the picture. */
export function useMoveGestures(onMove: Move): RefObject<HTMLDivElement | null> {
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
