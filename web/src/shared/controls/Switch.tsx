/** A switch: on or off. */
import type { ReactNode } from "react";
import styles from "./Switch.module.css";

interface Props {
  on: boolean;
  onChange: (on: boolean) => void;
  children: ReactNode;
}

export function Switch({ on, onChange, children }: Props) {
  return (
    <label className={styles.switchLabel}>
      <input
        type="checkbox"
        role="switch"
        checked={on}
        onChange={(event) => {
          onChange(event.target.checked);
        }}
      />
      {children}
    </label>
  );
}
