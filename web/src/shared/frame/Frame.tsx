/** The axes of a picture: lines of the grid, ticks, and titles. */
import type { ReactNode } from "react";
import { type Tick, tickTexts } from "@/shared/format/ticks";
import type { Axis } from "./axis";
import styles from "./Frame.module.css";

const LEFT = 58; // pixels, for the texts of the y axis

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface Props {
  width: number;
  height: number;
  box: Box; // of the data
  label: string; // of the picture, for readers without it
  x?: { axis: Axis; title: string; tick?: Tick };
  y?: { axis: Axis; title: string; tick?: Tick };
  children: ReactNode;
}

export function Frame({ width, height, box, label, x, y, children }: Props) {
  const [xTexts, yTexts] = [x, y].map((one) => (one ? tickTexts(one.axis.ticks, one.tick) : []));
  return (
    <svg width={width} height={height} role="img" aria-label={label} data-picture className={styles.picture}>
      {y && (
        <g className={styles.axis}>
          {y.axis.ticks.map((tick, index) => (
            <g key={tick}>
              <line x1={box.left} x2={box.right} y1={y.axis.at(tick)} y2={y.axis.at(tick)} />
              <text x={box.left - 8} y={y.axis.at(tick)} dy="0.35em" textAnchor="end">
                {yTexts?.[index]}
              </text>
            </g>
          ))}
          <text x={0} y={11}>
            {y.title}
          </text>
        </g>
      )}
      {x && (
        <g className={styles.axis}>
          {x.axis.ticks.map((tick, index) => (
            <g key={tick}>
              <line x1={x.axis.at(tick)} x2={x.axis.at(tick)} y1={box.top} y2={box.bottom} />
              <text x={x.axis.at(tick)} y={box.bottom + 17} textAnchor="middle">
                {xTexts?.[index]}
              </text>
            </g>
          ))}
          <text x={box.right} y={box.bottom + 34} textAnchor="end">
            {x.title}
          </text>
        </g>
      )}
      {children}
    </svg>
  );
}

/** Return the box of a picture with both axes. */
export function boxOf(width: number, height: number, left = LEFT): Box {
  return { left: Math.max(left, LEFT), right: width - 18, top: 24, bottom: height - 40 };
}
