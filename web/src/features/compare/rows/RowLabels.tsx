/** The labels of a picture's rows. */
import styles from "./RowLabels.module.css";
import { rowMiddle, shortLabel, type ValueRow } from "./rows";

interface Props {
  rows: readonly ValueRow[];
  left: number; // of the data
  letters: number;
}

export function RowLabels({ rows, left, letters }: Props) {
  return (
    <g className={styles.rowLabels}>
      {rows.map(({ group }, index) => (
        <text key={group.key} x={left - 10} y={rowMiddle(index)} dy="0.35em" textAnchor="end">
          <title>{group.label}</title>
          {shortLabel(group.label, letters)}
        </text>
      ))}
    </g>
  );
}
