/** A picture of which the pointer and the keyboard read the points: a text above it names what is there. */
import type { KeyboardEvent, ReactNode } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./Explorable.module.css";
import { useMoveGestures } from "./useMoveGestures";
import { type Drag, type PointerUses, usePointer } from "./usePointer";

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
