/** A line of the picture: its means, their error bars, and crosses for places where all runs diverged. */
import type { AnswerGroup } from "@/shared/api/types";
import styles from "./LinesPicture.module.css";
import type { Frame } from "./LinesPicture";

interface Props {
  groups: AnswerGroup[];
  frame: Frame;
  color: string;
  dash: number[];
  pointed: AnswerGroup | null;
  onPoint: (group: AnswerGroup | null) => void;
}

const CAP = 5; // half the width of an error bar's ends

export function LineMarks({ groups, frame, color, dash, pointed, onPoint }: Props) {
  const { atX, atY } = frame;
  const sorted = groups.toSorted((one, other) => (one.x ?? 0) - (other.x ?? 0));
  const drawn = sorted.filter((group) => group.figure && isInside(frame, group.figure.mean));
  const path = drawn.map((group) => `${atX(group.x ?? 0)},${atY(group.figure?.mean ?? 0)}`).join(" ");
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
          <Mark group={group} frame={frame} isPointed={group === pointed} />
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

function isInside({ low, high }: Frame, value: number): boolean {
  return value >= low && value <= high;
}

function Mark({ group, frame, isPointed }: { group: AnswerGroup; frame: Frame; isPointed: boolean }) {
  const { figure, x, is_preliminary } = group;
  if (!figure) return null;
  const [at, mean] = [frame.atX(x ?? 0), frame.atY(figure.mean)];
  const clamp = (value: number) => Math.min(Math.max(value, frame.top), frame.bottom);
  const [low, high] = [-1, 1].map((sign) => clamp(frame.atY(figure.mean + sign * (figure.deviation ?? 0))));
  return (
    <>
      {figure.deviation !== null && figure.deviation > 0 && (
        <path
          d={`M${at} ${low}V${high}M${at - CAP} ${low}h${2 * CAP}M${at - CAP} ${high}h${2 * CAP}`}
          stroke="currentColor"
          strokeWidth={1.5}
        />
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
