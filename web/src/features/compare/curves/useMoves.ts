/** The zoomed range while the pointer moves it: the picture follows at once, the address once the pointer rests. */
import { useEffect, useRef, useState } from "react";
import type { Extent } from "@/shared/frame/axis";

const RESTED_MS = 150; // browsers refuse more than about a hundred changes of an address in half a minute

/** Return the shown range, null for all of it, and the function that moves it. */
export function useMoves(
  zoom: Extent | null,
  onZoom: (range: Extent | null) => void,
): [Extent | null, (range: Extent | null) => void] {
  const [moving, setMoving] = useState<Extent | null | undefined>(undefined); // undefined: the pointer rests
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
  const move = (range: Extent | null) => {
    setMoving(range);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoving(undefined);
      onZoom(range);
    }, RESTED_MS);
  };
  return [moving === undefined ? zoom : moving, move];
}
