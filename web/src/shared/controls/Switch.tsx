/** On or off. */
import type { ReactNode } from "react";
import "@/shared/plot/controls.css";

interface Props {
  on: boolean;
  onChange: (on: boolean) => void;
  children: ReactNode;
}

export function Switch({ on, onChange, children }: Props) {
  return (
    <label className="switch">
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
