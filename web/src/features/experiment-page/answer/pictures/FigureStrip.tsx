/** A figure as a dot on a strip, with an error bar of one deviation; shares and losses have no meaningful zero. */
import type { AnswerFigure, AnswerGroup } from "@/shared/api/types";
import { linearPosition, type Range } from "@/shared/plot/scales";
import styles from "./FigureStrip.module.css";

interface Props {
  group: AnswerGroup;
  figure: AnswerFigure;
  range: Range;
}

export function FigureStrip({ group: { figure: spread }, figure, range: { low, high } }: Props) {
  const place = linearPosition(low, high, 3, 97);
  const at = (value: number) => Math.min(Math.max(place(value), 1), 99);
  const deviation = spread?.deviation ?? 0;
  return (
    <div className={styles.strip} aria-hidden="true" title={figure.title}>
      {spread && deviation > 0 && (
        <i
          className={styles.errorBar}
          style={{
            left: `${at(spread.mean - deviation)}%`,
            right: `${100 - at(spread.mean + deviation)}%`,
          }}
        />
      )}
      {spread && <i className={styles.dot} style={{ left: `${at(spread.mean)}%` }} />}
    </div>
  );
}
