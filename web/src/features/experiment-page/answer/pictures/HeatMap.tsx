/** Two numeric axes: a cell for each pair of values, darker where the figure is better; one map for each category. */
import type { CSSProperties } from "react";
import type { Answer, AnswerAxis, AnswerFigure, AnswerGroup } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { type Range, robustRange } from "@/shared/plot/scales";
import { useWidth } from "@/shared/page/useWidth";
import { doneText, figureText, type PictureAxes, placeText, spreadText, tickText } from "../figureText";
import styles from "./HeatMap.module.css";
import { byLabel, isInside } from "../scales";

interface Props {
  answer: Answer;
  figure: AnswerFigure;
  x: AnswerAxis;
  y: AnswerAxis;
}

const TEXT_PX = 52; // of a cell that is wide enough for its value
const MOST_TALL = 12; // rows that are tall
const MOST_FAR = 6; // values that are listed; of more of them the least and the greatest
const LABELS_PX = 64; // of the column with the values of y

export function HeatMap({ answer, figure, x, y }: Props) {
  const [host, width] = useWidth();
  const maps = [...byLabel(answer.groups)];
  const range = robustRange(answer.groups.flatMap((group) => group.figure?.mean ?? []));
  const columns = maps.length > 1 && width > 900 ? 2 : 1;
  const hasText = (width / columns - LABELS_PX) / x.values.length >= TEXT_PX;
  return (
    <div ref={host}>
      <div className={styles.maps} style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}>
        {maps.map(([label, groups]) => (
          <figure key={label}>
            {label && <figcaption>{label}</figcaption>}
            <Cells {...{ groups, figure, x, y, range, hasText }} />
          </figure>
        ))}
      </div>
      <Scale figure={figure} range={range} />
      <FarOut groups={answer.groups} {...{ figure, range }} />
    </div>
  );
}

interface CellsProps {
  groups: AnswerGroup[];
  figure: AnswerFigure;
  x: AnswerAxis;
  y: AnswerAxis;
  range: Range;
  hasText: boolean;
}

function Cells({ groups, figure, x, y, range, hasText }: CellsProps) {
  const byPlace = new Map(groups.map((group) => [`${group.x} ${group.y}`, group]));
  const best = bestOf(groups, figure);
  return (
    <div
      className={styles.cells}
      style={{
        gridTemplateColumns: `${LABELS_PX}px repeat(${x.values.length}, minmax(0, 1fr))`,
        gridAutoRows: y.values.length > MOST_TALL ? "auto" : "minmax(1.5rem, auto)",
        fontSize: y.values.length > MOST_TALL ? "0.7rem" : undefined,
      }}
      role="img"
      aria-label={`${figure.title} by ${x.name} and ${y.name}; the table below has all values`}
    >
      <span className={classNames("small muted", styles.yName)}>{y.name}</span>
      {y.values.toReversed().map((row) => (
        <Row key={row} {...{ row, x, figure, range, hasText, byPlace, best }} axes={{ x, y }} />
      ))}
      <span />
      {x.values.map((column) => (
        <span key={column} className={classNames("small", styles.xTick)}>
          {hasText || x.values.length <= 12 ? tickText(column, x) : ""}
        </span>
      ))}
      <span className={classNames("small muted", styles.xName)}>{x.name}</span>
    </div>
  );
}

interface RowProps extends Omit<CellsProps, "groups" | "y"> {
  row: number;
  byPlace: ReadonlyMap<string, AnswerGroup>;
  best: AnswerGroup | undefined;
  axes: PictureAxes;
}

function Row({ row, x, figure, range, hasText, byPlace, best, axes }: RowProps) {
  return (
    <>
      <span className={classNames("small", styles.yTick)}>{axes.y && tickText(row, axes.y)}</span>
      {x.values.map((column) => {
        const group = byPlace.get(`${column} ${row}`);
        return (
          <span
            key={column}
            className={cellClass(group, group !== undefined && group === best, isFarOut(group, range))}
            style={cellStyle(group, figure, range)}
            title={group && titleOf(group, figure, axes)}
          >
            {hasText && group?.figure ? figureText(group.figure.mean, figure.unit) : ""}
            {group && !group.figure && (group.diverged ? (hasText ? "diverged" : "×") : "")}
          </span>
        );
      })}
    </>
  );
}

function isFarOut(group: AnswerGroup | undefined, range: Range): boolean {
  return group?.figure != null && !isInside(range, group.figure.mean);
}

function cellClass(group: AnswerGroup | undefined, isBest: boolean, isFar: boolean): string {
  return classNames(
    styles.cell,
    !group?.figure && styles.emptyCell,
    group?.figure != null && group.is_preliminary && styles.preliminaryCell,
    isBest && styles.bestCell,
    isFar && styles.farCell,
  );
}

/** Return the color of a cell: a mixture of the accent, more of it where the figure is better. */
function cellStyle(
  group: AnswerGroup | undefined,
  figure: AnswerFigure,
  { low, high }: Range,
): CSSProperties {
  if (!group?.figure) return {};
  const share = Math.min(Math.max((group.figure.mean - low) / (high - low || 1), 0), 1);
  const better = figure.higher_is_better === false ? 1 - share : share;
  return {
    background: mixture(better),
    color: better > 0.5 ? "var(--on-accent)" : "var(--ink)",
  };
}

function mixture(share: number): string {
  // between the ends no text color has enough contrast with the middle, so the middle is left out
  const percent = share > 0.5 ? 78 + (share - 0.5) * 44 : 4 + share * 60;
  return `color-mix(in oklab, var(--accent) ${percent.toFixed(1)}%, var(--surface))`;
}

function titleOf(group: AnswerGroup, figure: AnswerFigure, axes: PictureAxes): string {
  return [placeText(group, axes), `${figure.title} ${spreadText(group.figure, figure.unit)}`, doneText(group)]
    .filter(Boolean)
    .join("\n");
}

function bestOf(groups: AnswerGroup[], { higher_is_better }: AnswerFigure): AnswerGroup | undefined {
  if (higher_is_better === null) return undefined;
  const sign = higher_is_better ? 1 : -1;
  return groups
    .filter((group) => group.figure)
    .toSorted((one, other) => sign * ((other.figure?.mean ?? 0) - (one.figure?.mean ?? 0)))[0];
}

/** The colors of the lowest and the highest value. */
function Scale({ figure, range }: { figure: AnswerFigure; range: Range }) {
  const shares = [0, 0.25, 0.5, 0.51, 0.75, 1];
  const colors = figure.higher_is_better === false ? shares.toReversed() : shares;
  return (
    <p className={classNames("small muted", styles.scale)}>
      {figure.title} <span>{figureText(range.low, figure.unit)}</span>
      <i
        aria-hidden="true"
        style={{ background: `linear-gradient(90deg, ${colors.map(mixture).join(", ")})` }}
      />
      <span>{figureText(range.high, figure.unit)}</span>
    </p>
  );
}

/** Which values are beyond the colors, which the cells with a bar at the left have. */
function FarOut({ groups, figure, range }: { groups: AnswerGroup[]; figure: AnswerFigure; range: Range }) {
  const far = groups.filter((group) => isFarOut(group, range)).flatMap((group) => group.figure?.mean ?? []);
  if (!far.length) return null;
  const sorted = far.toSorted((one, other) => one - other).map((mean) => figureText(mean, figure.unit));
  const shown = sorted.length > MOST_FAR ? `${sorted[0] ?? ""} to ${sorted.at(-1) ?? ""}` : sorted.join(", ");
  return (
    <p className="small muted">
      {pluralize(far.length, "value")} far out, with the color of an end and a bar at the left of the cell:{" "}
      {shown}.
    </p>
  );
}
