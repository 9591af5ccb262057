/** A list whose newest entries are visible; earlier ones of a long list are folded, so that they push nothing away. */
import type { ReactNode } from "react";
import { pluralize } from "@/shared/format/number";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./FoldedList.module.css";

const MOST_VISIBLE = 5;
const NEWEST = 3; // visible entries of a longer list

interface Props {
  label: string;
  noun: string; // of one entry
  items: ReactNode[]; // list items, oldest first
  className?: string;
}

export function FoldedList({ label, noun, items, className }: Props) {
  const folded = items.length > MOST_VISIBLE ? items.slice(0, -NEWEST) : [];
  return (
    <div className={className}>
      {folded.length > 0 && (
        <details>
          <summary className="muted">{pluralize(folded.length, `earlier ${noun}`)}</summary>
          <ScrollRegion className={styles.folded} label={`Earlier: ${label}`}>
            <ol>{folded}</ol>
          </ScrollRegion>
        </details>
      )}
      <ol aria-label={label}>{items.slice(folded.length)}</ol>
    </div>
  );
}
