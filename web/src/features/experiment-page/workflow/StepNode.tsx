/** A step in the graph: a button with its state, its runs and its time, which chooses the runs of the page. */
import type { StepView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { StateBar } from "@/shared/state/StateBar";
import { StateMark } from "@/shared/state/StateMark";
import { NODE, type PlacedStep } from "./layout";
import styles from "./StepGraph.module.css";
import { hiddenText, MARK_OF, runsText, timeText } from "./stepText";

interface Props {
  step: StepView;
  place: PlacedStep;
  now: number;
  isChosen: boolean;
  onChoose: (name: string) => void;
}

export function StepNode({ step, place, now, isChosen, onChoose }: Props) {
  const mark = MARK_OF[step.state];
  return (
    <button
      className={classNames(styles.step, step.is_critical && styles.critical, isChosen && styles.chosenStep)}
      style={{ left: place.x, top: place.y, width: NODE.width, height: NODE.height }}
      data-state={mark}
      aria-pressed={isChosen}
      title={step.reason ?? undefined}
      onClick={() => {
        onChoose(step.name);
      }}
    >
      <span className={styles.stepHead}>
        <strong>{step.name}</strong>
        <StateMark state={mark} label={step.state} />
      </span>
      <span className={styles.stepRuns}>
        {step.size ? (
          <StateBar
            counts={step.expanded_at ? step.counts : { queued: step.size }}
            progress={step.progress}
          />
        ) : null}
      </span>
      <span className={styles.stepFoot}>
        <span>{runsText(step)}</span>
        <span>{timeText(step, now)}</span>
      </span>
      <span className="visually-hidden">{hiddenText(step)}</span>
    </button>
  );
}
