/** A small picture of a group's figure: its range, the mean with the deviation, on the scale of the whole column. */
import type { GroupFigure } from "@/shared/api/types";
import styles from "./GroupTable.module.css";

const WIDTH = 72;
const HEIGHT = 12;
const EDGE = 3; // at both ends

export interface Scale {
  low: number;
  high: number;
}

export function BandMark({ figure, scale }: { figure: GroupFigure; scale: Scale }) {
  const at = (value: number) => {
    const share = scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 0.5;
    return EDGE + Math.min(1, Math.max(0, share)) * (WIDTH - 2 * EDGE);
  };
  const { mean, deviation, least, most } = figure;
  const [from, to] = [at(mean - (deviation ?? 0)), at(mean + (deviation ?? 0))];
  return (
    <svg className={styles.bandMark} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path className={styles.range} d={`M${at(least)} ${HEIGHT / 2}H${at(most)}`} />
      <rect className={styles.band} x={from} width={to - from} y={2} height={HEIGHT - 4} />
      <path className={styles.mean} d={`M${at(mean)} 1V${HEIGHT - 1}`} />
    </svg>
  );
}

/** Return the range of all groups' values of one figure. */
export function scaleOf(figures: (GroupFigure | null | undefined)[]): Scale {
  const known = figures.filter((figure) => figure !== null && figure !== undefined);
  return {
    low: known.reduce((least, figure) => Math.min(least, figure.least), Infinity),
    high: known.reduce((most, figure) => Math.max(most, figure.most), -Infinity),
  };
}
