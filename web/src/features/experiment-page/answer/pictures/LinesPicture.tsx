/** One numeric axis: the figure against it, a line for each category, error bars of one deviation over the seeds. */
import { useState } from "react";
import type { Answer, AnswerAxis, AnswerFigure, AnswerGroup } from "@/shared/api/types";
import { padded } from "@/shared/frame/axis";
import { classNames } from "@/shared/page/classNames";
import { LineSwatch } from "@/shared/plot/Legend";
import {
  linearPosition,
  type Position,
  type Range,
  robustRange,
  roundTicks,
  spacedTicks,
} from "@/shared/plot/scales";
import { useWidth } from "@/shared/page/useWidth";
import { type Theme, useTheme } from "@/shared/theme/theme";
import { doneText, figureText, placeText, spreadText, tickText } from "../figureText";
import { axisPosition, byLabel, colorOf, dashOf, errorBar, extremesOf, isInside } from "../scales";
import { LineMarks } from "./LineMarks";
import styles from "./LinesPicture.module.css";

interface Props {
  answer: Answer;
  figure: AnswerFigure;
  x: AnswerAxis;
}

const HEIGHT = 340;
const MARGIN = { top: 14, right: 26, bottom: 46, left: 66 };
const PAD = 0.08; // of the range, above and below

/** Where the values of both axes are, in pixels. */
export interface Frame {
  width: number;
  bottom: number;
  top: number;
  atX: Position;
  atY: Position;
  low: number; // the range of y
  high: number;
}

function frameOf(x: AnswerAxis, range: Range, width: number): Frame {
  const { low, high } = padded(range, false, PAD);
  const [top, bottom] = [MARGIN.top, HEIGHT - MARGIN.bottom];
  return {
    ...{ width, bottom, top, low, high },
    atX: axisPosition(x, MARGIN.left + 12, width - MARGIN.right - 12),
    atY: linearPosition(low, high, bottom, top),
  };
}

export function LinesPicture({ answer, figure, x }: Props) {
  const [host, width] = useWidth();
  const [pointed, setPointed] = useState<AnswerGroup | null>(null);
  const theme = useTheme();
  const lines = [...byLabel(answer.groups)];
  const range = robustRange(answer.groups.flatMap((group) => extremesOf(group, figure)));
  const frame = frameOf(x, range, width);
  return (
    <div className={styles.lines}>
      <Legend labels={lines.map(([label]) => label)} theme={theme} />
      <p className={classNames("small muted", styles.pointed)} aria-live="off">
        {pointed ? pointedText(pointed, figure, x) : cutText(answer.groups, figure, frame)}
      </p>
      <div ref={host} className={styles.frame}>
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          data-picture
          aria-label={`${figure.title} against ${x.name}; the table below has all values`}
        >
          <Axes frame={frame} x={x} figure={figure} ticks={roundTicks(frame.low, frame.high, 5)} />
          {lines.map(([label, groups], index) => (
            <LineMarks
              key={label}
              groups={groups}
              {...{ figure, frame }}
              color={colorOf(index, lines.length, theme)}
              dash={dashOf(index, lines.length)}
              pointed={pointed}
              onPoint={setPointed}
            />
          ))}
        </svg>
      </div>
    </div>
  );
}

/** Return what the picture has no room for: means far out, and ends of the error bars of others. */
function cutText(groups: readonly AnswerGroup[], figure: AnswerFigure, frame: Frame): string {
  const spreads = groups.flatMap((group) => group.figure ?? []);
  const inside = spreads.filter(({ mean }) => isInside(frame, mean));
  const isCut = inside.some((spread) => !errorBar(spread, figure).every((end) => isInside(frame, end)));
  return [
    inside.length < spreads.length ? "Arrows at the edge are means far out, with their values." : "",
    isCut ? "An error bar without a cap goes on beyond the picture." : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function Legend({ labels, theme }: { labels: string[]; theme: Theme }) {
  if (labels.length < 2) return null;
  return (
    <ul className={styles.lineLegend} aria-label="Lines">
      {labels.map((label, index) => (
        <li key={label}>
          <LineSwatch color={colorOf(index, labels.length, theme)} dash={dashOf(index, labels.length)} />{" "}
          {label}
        </li>
      ))}
    </ul>
  );
}

interface AxesProps {
  frame: Frame;
  x: AnswerAxis;
  figure: AnswerFigure;
  ticks: number[];
}

function Axes({ frame: { width, bottom, atX, atY }, x, figure, ticks }: AxesProps) {
  return (
    <g className={styles.axes}>
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={MARGIN.left} x2={width - MARGIN.right} y1={atY(tick)} y2={atY(tick)} />
          <text x={MARGIN.left - 8} y={atY(tick)} dy="0.35em" textAnchor="end">
            {yTickText(tick, figure)}
          </text>
        </g>
      ))}
      {spacedTicks(x.values, atX, 46).map((value) => (
        <g key={value}>
          <line x1={atX(value)} x2={atX(value)} y1={bottom} y2={bottom + 5} />
          <text x={atX(value)} y={bottom + 19} textAnchor="middle">
            {tickText(value, x)}
          </text>
        </g>
      ))}
      <text x={(MARGIN.left + width - MARGIN.right) / 2} y={bottom + 39} textAnchor="middle">
        {x.name}
        {x.scale === "linear" ? "" : " (log scale)"}
      </text>
    </g>
  );
}

/** Return a round number with its unit: 98.5%, not 98.50%. */
function yTickText(value: number, figure: AnswerFigure): string {
  if (figure.unit === "share") return `${Number((value * 100).toPrecision(6))}%`;
  if (figure.unit === "seconds") return value === 0 ? "0 s" : value < 0 ? "" : figureText(value, "seconds");
  return String(Number(value.toPrecision(6)));
}

function pointedText(group: AnswerGroup, figure: AnswerFigure, x: AnswerAxis): string {
  const parts = [
    `${placeText(group, { x, y: null })}: ${spreadText(group.figure, figure.unit)}`,
    doneText(group),
  ];
  if (group.is_preliminary) parts.push("no run is done yet");
  return parts.filter(Boolean).join(", ");
}
