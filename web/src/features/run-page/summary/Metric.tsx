/** One metric of a run: its name, its value and a short note. */
import type { ReactNode } from "react";

interface Props {
  name: string;
  value: string;
  note?: ReactNode;
}

export function Metric({ name, value, note }: Props) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {note && <small className="muted">{note}</small>}
      </dd>
    </div>
  );
}
