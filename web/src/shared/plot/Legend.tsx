/** The parts of a legend. */
import type { ReactNode } from "react";
import styles from "./Legend.module.css";

interface Props {
  isShown: boolean;
  onToggle: () => void;
  onPoint: () => void;
  onLeave: () => void;
  children: ReactNode;
}

/** An entry of a legend: a click hides or shows its curves, and the pointer or the focus highlights them. */
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

interface LineSwatchProps {
  color: string;
  dash?: number[] | undefined;
}

/** A sample of a line in its color and dashes. */
export function LineSwatch({ color, dash = [] }: LineSwatchProps) {
  return (
    <svg className={styles.swatch} viewBox="0 0 18 10" aria-hidden="true">
      <path d="M0 5h18" stroke={color} strokeWidth="2.25" strokeDasharray={dash.join(" ")} />
    </svg>
  );
}
