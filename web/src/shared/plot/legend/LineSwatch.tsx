/** A sample of a line in its color and dashes. */
import styles from "./LineSwatch.module.css";
interface Props {
  color: string;
  dash?: number[] | undefined;
}

export function LineSwatch({ color, dash = [] }: Props) {
  return (
    <svg className={styles.swatch} viewBox="0 0 18 10" aria-hidden="true">
      <path d="M0 5h18" stroke={color} strokeWidth="2.25" strokeDasharray={dash.join(" ")} />
    </svg>
  );
}
