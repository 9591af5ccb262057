/** The time of a step as one bar of its parts; a legend names the parts and their times. */
import type { AnswerGroup } from "@/shared/api/types";
import { formatStepTime } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { PARTS } from "@/shared/series/catalog";
import { useTheme } from "@/shared/theme/theme";
import styles from "./StepTimeBar.module.css";

interface Props {
  parts: AnswerGroup["parts"];
  longest?: number; // seconds of the longest bar of the picture; default: of this one
  legend?: boolean;
}

export function StepTimeBar({ parts, longest, legend = false }: Props) {
  const theme = useTheme();
  const total = totalOf(parts);
  if (!total) return null;
  const shown = PARTS.filter(({ name }) => parts[name]);
  return (
    <>
      <div
        className={classNames(styles.stepBar, legend && styles.ownBar)}
        style={{ width: `${(100 * total) / (longest ?? total)}%` }}
        aria-hidden="true"
      >
        {shown.map(({ name, color }) => (
          <i key={name} style={{ flexGrow: (parts[name] ?? 0) / total, background: color[theme] }} />
        ))}
      </div>
      {legend && <PartsLegend parts={parts} />}
    </>
  );
}

/** Return the seconds of all parts. */
export function totalOf(parts: AnswerGroup["parts"]): number {
  return Object.values(parts).reduce((sum, value) => sum + value, 0);
}

/** The names and colors of the parts; with `parts` also their times. */
export function PartsLegend({ parts }: { parts?: AnswerGroup["parts"] }) {
  const theme = useTheme();
  return (
    <ul className={styles.stepLegend} aria-label="Parts of a step">
      {PARTS.filter(({ name }) => !parts || parts[name]).map(({ name, title, color }) => (
        <li key={name}>
          <i style={{ background: color[theme] }} />
          {title} {parts && <span className="muted">{formatStepTime(parts[name])}</span>}
        </li>
      ))}
    </ul>
  );
}
