/** The choices for a picture: its figure, the accuracy to which times are compared, and the baseline. */
import { type ReactNode, useId, useState } from "react";
import type { Answer } from "@/shared/api/types";
import { Choice } from "@/shared/controls/Choice";
import { formatPercent } from "@/shared/format/number";
import styles from "./AnswerPanel.module.css";
import { BEST_ACCURACY, placeText } from "./figureText";

interface Props {
  answer: Answer;
  onChange: (change: { figure?: string; target?: string; baseline?: string }) => void;
  children: ReactNode; // after the choices
}

const MOST_BASELINES = 100; // a longer list helps no reader

export function AnswerControls({ answer, onChange, children }: Props) {
  const { figure, figures, target, baseline, groups } = answer;
  const hasAccuracy = figures.some(({ name, unit }) => name === BEST_ACCURACY && unit === "share");
  const compares = hasAccuracy && groups.length > 1 && groups.length <= MOST_BASELINES;
  const isChoice = figures.length > (figure ? 1 : 0);
  if (!isChoice) return <div className={styles.answerChoices}>{children}</div>;
  return (
    <div className={styles.answerChoices}>
      <FigureChoice {...{ answer, onChange }} />
      {compares && <TargetField target={target} onChange={onChange} />}
      {compares && target !== null && (
        <Choice
          label="Baseline"
          value={String(baseline ?? 0)}
          options={groups.map((group, index) => [String(index), placeText(group, answer)])}
          onChange={(index) => {
            onChange({ baseline: index });
          }}
        />
      )}
      {children}
    </div>
  );
}

/** The figures that can be shown; without one the reader chooses whether any of them is an answer. */
function FigureChoice({ answer: { figure, figures }, onChange }: Pick<Props, "answer" | "onChange">) {
  const options = figures.map(({ name, title }): [string, string] => [name, title]);
  return (
    <Choice
      label="Show"
      value={figure?.name ?? ""}
      options={figure ? options : [["", "no figure"], ...options]}
      onChange={(name) => {
        onChange({ figure: name });
      }}
    />
  );
}

/** The target in percent; empty for the default. It counts when the reader leaves the field or presses Enter. */
function TargetField({ target, onChange }: { target: number | null; onChange: Props["onChange"] }) {
  const id = useId();
  const shown = target === null ? "" : formatPercent(target).replace("%", "");
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    if (draft !== null && draft !== shown) onChange({ target: draft.trim() });
    setDraft(null);
  };
  return (
    <span className={styles.answerChoice}>
      <label htmlFor={id} className="small muted">
        Target accuracy, %
      </label>
      <input
        id={id}
        className="textInput small"
        inputMode="decimal"
        size={6}
        placeholder="none"
        value={draft ?? shown}
        onChange={(event) => {
          setDraft(event.target.value);
        }}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
        }}
      />
    </span>
  );
}
