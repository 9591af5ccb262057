/** Categories: for each one the parts of a step or its figure, its accuracy, the time to the target, the speed-up. */
import type { Answer, AnswerFigure, AnswerGroup } from "@/shared/api/types";
import { formatPercent } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { linearPosition, type Range, robustRange } from "@/shared/plot/scales";
import { doneText, secondsText, speedupText, spreadText } from "../figureText";
import { errorBar, extremesOf } from "../scales";
import styles from "./BarsPicture.module.css";
import { PartsLegend, StepTimeBar, totalOf } from "./StepTimeBar";

interface Props {
  answer: Answer;
  figure: AnswerFigure;
}

const STEP_S = "step_s";

export function BarsPicture({ answer, figure }: Props) {
  const { groups, baseline, target } = answer;
  const longest = Math.max(...groups.map(({ parts }) => totalOf(parts)));
  const range = robustRange(groups.flatMap((group) => extremesOf(group, figure)));
  const hasParts = longest > 0;
  const first = groups[baseline ?? 0];
  return (
    <>
      <ol className={styles.bars} aria-label={figure.title}>
        {ordered(groups, figure).map((group) => (
          <Bar
            key={group.label}
            {...{ group, figure, range, longest, target }}
            isBaseline={target !== null && group === first}
          />
        ))}
      </ol>
      {range.cut > 0 && <p className="small muted">Values beyond the strip stand at its ends.</p>}
      {hasParts && (
        <div className="small">
          <PartsLegend />
        </div>
      )}
    </>
  );
}

interface BarProps {
  group: AnswerGroup;
  figure: AnswerFigure;
  range: Range;
  longest: number;
  target: number | null;
  isBaseline: boolean;
}

function Bar({ group, figure, range, longest, target, isBaseline }: BarProps) {
  const isTime = figure.name === STEP_S;
  const done = doneText(group);
  return (
    <li className={classNames(styles.bar, group.is_preliminary && styles.preliminary)}>
      <p className={styles.barLabel}>
        {group.label} {done && <span className="small muted">{done}</span>}
      </p>
      <div className={styles.barTracks}>
        {!isTime && <FigureStrip group={group} figure={figure} range={range} />}
        {longest > 0 && <StepTimeBar parts={group.parts} longest={longest} />}
      </div>
      <p className={styles.barValue}>{spreadText(group.figure, figure.unit)}</p>
      <p className={classNames("small", styles.barFacts)}>
        {factsOf(group, isTime, target).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {isBaseline && <span className="muted">baseline</span>}
        {group.speedup !== null && <b>{speedupText(group.speedup)} as fast</b>}
      </p>
    </li>
  );
}

/** Return what accompanies the figure: accuracy or time of a step, and the time to the target. */
function factsOf(
  { accuracy, parts, to_target }: AnswerGroup,
  isTime: boolean,
  target: number | null,
): string[] {
  const total = totalOf(parts);
  return [
    isTime && accuracy ? `accuracy ${spreadText(accuracy, "share")}` : "",
    !isTime && total ? `step ${secondsText(total)}` : "",
    target !== null && to_target ? `${formatPercent(target)} after ${secondsText(to_target.mean)}` : "",
  ].filter(Boolean);
}

/** Return the groups with the best figure first, the highest where none is known to be better; those without one last. */
function ordered(groups: AnswerGroup[], { higher_is_better }: AnswerFigure): AnswerGroup[] {
  const sign = higher_is_better === false ? 1 : -1;
  const rank = ({ figure }: AnswerGroup) => (figure ? sign * figure.mean : Infinity);
  return groups.toSorted((one, other) => (rank(one) === rank(other) ? 0 : rank(one) - rank(other)));
}

interface FigureStripProps {
  group: AnswerGroup;
  figure: AnswerFigure;
  range: Range;
}

/** A figure as a dot on a strip, with an error bar of one deviation; shares and losses have no meaningful zero. */
function FigureStrip({ group: { figure: spread }, figure, range: { low, high } }: FigureStripProps) {
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
