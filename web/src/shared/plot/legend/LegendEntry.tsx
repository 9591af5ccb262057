/** An entry of a legend: a click hides or shows its curves, and the pointer or the focus highlights them. */
import type { ReactNode } from "react";
import styles from "./LegendEntry.module.css";

interface Props {
  isShown: boolean;
  onToggle: () => void;
  onPoint: () => void;
  onLeave: () => void;
  children: ReactNode;
}

export function LegendEntry({ isShown, onToggle, onPoint, onLeave, children }: Props) {
  return (
    <button
      className={styles.legendEntry}
      aria-pressed={isShown}
      onClick={onToggle}
      onPointerEnter={onPoint}
      onPointerLeave={onLeave}
      onFocus={onPoint}
      onBlur={onLeave}
    >
      {children}
    </button>
  );
}
