/** A figure as a dot on a strip, with an error bar of one deviation; shares and losses have no meaningful zero. */
import type { AnswerFigure, AnswerGroup } from "@/shared/api/types";
import { linearPosition, type Range } from "@/shared/plot/scales";
import { errorBar } from "../scales";
import styles from "./FigureStrip.module.css";

interface Props {
  group: AnswerGroup;
  figure: AnswerFigure;
  range: Range;
}

export function FigureStrip({ group: { figure: spread }, figure, range: { low, high } }: Props) {
  const place = linearPosition(low, high, 3, 97);
  const at = (value: number) => Math.min(Math.max(place(value), 1), 99);
  const [least, most] = spread ? errorBar(spread, figure) : [0, 0];
  return (
    <div className={styles.strip} aria-hidden="true" title={figure.title}>
      {most > least && (
        <i
          className={styles.errorBar}
          style={{
            left: `${at(least)}%`,
            right: `${100 - at(most)}%`,
          }}
        />
      )}
      {spread && <i className={styles.dot} style={{ left: `${at(spread.mean)}%` }} />}
    </div>
  );
}
