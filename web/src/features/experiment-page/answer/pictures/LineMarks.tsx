/** A line of the picture: its means, their error bars, and crosses for places where all runs diverged. */
import type { AnswerFigure, AnswerGroup } from "@/shared/api/types";
import styles from "./LinesPicture.module.css";
import { figureText } from "../figureText";
import { errorBar, isInside } from "../scales";
import type { Frame } from "./LinesPicture";

interface Props {
  groups: AnswerGroup[];
  figure: AnswerFigure;
  frame: Frame;
  color: string;
  dash: number[];
  pointed: AnswerGroup | null;
  onPoint: (group: AnswerGroup | null) => void;
}

const CAP = 5; // half the width of an error bar's ends
const EDGE = 100; // px from the side, where a centered text would be cut

export function LineMarks({ groups, figure, frame, color, dash, pointed, onPoint }: Props) {
  const { atX, atY } = frame;
  const sorted = groups.toSorted((one, other) => (one.x ?? 0) - (other.x ?? 0));
  const drawn = sorted.filter((group) => group.figure);
  const edge = (value: number) => Math.min(Math.max(value, frame.low), frame.high);
  const path = drawn.map((group) => `${atX(group.x ?? 0)},${atY(edge(group.figure?.mean ?? 0))}`).join(" ");
  return (
    <g className={styles.line} style={{ color }}>
      <polyline
        points={path}
        fill="none"
        stroke="currentColor"
        strokeWidth={1.75}
        strokeDasharray={dash.join(" ")}
      />
      {drawn.map((group) => (
        <g
          key={group.x}
          onPointerEnter={() => {
            onPoint(group);
          }}
          onPointerLeave={() => {
            onPoint(null);
          }}
        >
          {group.figure && isInside(frame, group.figure.mean) ? (
            <Mark {...{ group, figure, frame }} isPointed={group === pointed} />
          ) : (
            <FarOut {...{ group, figure, frame }} />
          )}
        </g>
      ))}
      {sorted
        .filter(({ diverged }) => diverged > 0)
        .map((group) => (
          <Cross key={group.x} at={atX(group.x ?? 0)} bottom={frame.bottom} count={group.diverged} />
        ))}
    </g>
  );
}

type MarkProps = Pick<Props, "figure" | "frame"> & { group: AnswerGroup };

function Mark({ group, figure, frame, isPointed }: MarkProps & { isPointed: boolean }) {
  const { figure: spread, x, is_preliminary } = group;
  if (!spread) return null;
  const [at, mean] = [frame.atX(x ?? 0), frame.atY(spread.mean)];
  return (
    <>
      {spread.deviation !== null && spread.deviation > 0 && (
        <path d={barPath(at, errorBar(spread, figure), frame)} stroke="currentColor" strokeWidth={1.5} />
      )}
      <circle cx={at} cy={mean} r={14} fill="transparent" />
      <circle
        cx={at}
        cy={mean}
        r={isPointed ? 6 : 4.5}
        stroke="currentColor"
        strokeWidth={2}
        fill={is_preliminary ? "var(--surface)" : "currentColor"}
      />
    </>
  );
}

/** Return the path of an error bar; an end beyond the frame has no cap: the bar goes on there. */
function barPath(at: number, ends: readonly number[], frame: Frame): string {
  const [low = 0, high = 0] = ends.map((end) => Math.min(Math.max(frame.atY(end), frame.top), frame.bottom));
  const caps = ends
    .filter((end) => isInside(frame, end))
    .map((end) => `M${at - CAP} ${frame.atY(end)}h${2 * CAP}`);
  return `M${at} ${low}V${high}${caps.join("")}`;
}

/** An arrow at the edge of the frame, with the value of a mean that lies beyond it. */
function FarOut({ group: { figure: spread, x }, figure, frame }: MarkProps) {
  if (!spread) return null;
  const isAbove = spread.mean > frame.high;
  const [at, tip, inward] = [frame.atX(x ?? 0), isAbove ? frame.top : frame.bottom, isAbove ? 1 : -1];
  const anchor = at < EDGE ? "start" : at > frame.width - EDGE ? "end" : "middle";
  return (
    <g className={styles.farOut}>
      <path d={`M${at} ${tip}l6 ${inward * 10}h-12z`} fill="currentColor" />
      <text x={at} y={tip + inward * (isAbove ? 24 : 16)} textAnchor={anchor}>
        {figureText(spread.mean, figure.unit)}
      </text>
    </g>
  );
}

/** A cross above the axis: runs at this place diverged. */
function Cross({ at, bottom, count }: { at: number; bottom: number; count: number }) {
  const y = bottom - 9;
  return (
    <g className={styles.cross}>
      <title>{`${count} diverged`}</title>
      <path d={`M${at - 4} ${y - 4}l8 8m0 -8l-8 8`} />
    </g>
  );
}
