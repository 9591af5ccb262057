/** The answer of an experiment: a sentence of result, the picture of its figure, and what it leaves out. */
import { capitalized } from "@/shared/format/value";
import type { Answer } from "@/shared/api/types";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { pluralize } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { AddToReport } from "@/shared/reports/AddToReport";
import { hasEnded } from "@/shared/state/state";
import { useTheme } from "@/shared/theme/theme";
import type { ShownExperiment } from "../shownExperiment";
import { AnswerControls } from "./AnswerControls";
import styles from "./AnswerPanel.module.css";
import { AnswerTable } from "./AnswerTable";
import { BarsPicture } from "./pictures/BarsPicture";
import { HeatMap } from "./pictures/HeatMap";
import { LinesPicture } from "./pictures/LinesPicture";
import { StepTimeBar } from "./pictures/StepTimeBar";
import {
  blocksOfAnswer,
  legendOfAnswer,
  linesOf,
  PICTURE_ID,
  pictureOfAnswer,
  titleOf,
} from "./reportBlocks";
import { useAnswer, useAnswerChoice } from "./useAnswer";

export function AnswerPanel({ experiment }: { experiment: ShownExperiment }) {
  const [choice, onChange] = useAnswerChoice();
  const theme = useTheme();
  const ofStep = experiment.step === null ? choice : { ...choice, step: experiment.step };
  const { data, error } = useAnswer(experiment.id, ofStep, !hasEnded(experiment.state));
  if (!data && !error) return <QueryStatus error={null} />;
  return (
    <section className={classNames("panel", styles.answerPanel)} aria-label="Answer">
      {error && (
        <p className={styles.answerError} role="alert">
          {error.message}{" "}
          <button
            className="button small"
            onClick={() => {
              onChange({ figure: "", target: "", baseline: "" });
            }}
          >
            Reset the choices
          </button>
        </p>
      )}
      {data && (
        <>
          <p className={styles.sentence}>{data.sentence.replaceAll(" %", "\u00a0%")}</p>
          <AnswerControls answer={data} onChange={onChange}>
            <AddToReport
              blocks={() => blocksOfAnswer(data, experiment.name, Object.keys(experiment.spec.axes), theme)}
            />
            {data.figure && <AnswerDownload answer={data} name={experiment.name} />}
          </AnswerControls>
          <div id={PICTURE_ID}>
            <AnswerPicture answer={data} />
          </div>
          <Notes answer={data} />
          {data.groups.length > 1 && <AnswerTable answer={data} />}
        </>
      )}
    </section>
  );
}

function AnswerDownload({ answer, name }: { answer: Answer; name: string }) {
  const theme = useTheme();
  return (
    <DownloadMenu
      picture={pictureOfAnswer}
      title={`${titleOf(answer)}, ${name}`}
      runs={answer.groups.flatMap(({ runs }) => runs)}
      legend={legendOfAnswer(answer, theme)}
      csv={() => linesOf(answer)}
    />
  );
}

/** What the picture leaves out, and what a reader must know of its figures. */
function Notes({ answer }: { answer: Answer }) {
  const notes = [...exclusions(answer), ...means(answer), ...refusals(answer), ...answer.notes.map(sentence)];
  if (!notes.length) return null;
  return (
    <ul className={classNames("small muted", styles.notes)} aria-label="Notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function exclusions({ archived, left_out, diverged, failed, unfinished }: Answer): string[] {
  const left = [
    diverged && `${pluralize(diverged, "run")} diverged`,
    failed && `${pluralize(failed, "run")} failed`,
    unfinished && `${pluralize(unfinished, "run")} ${unfinished === 1 ? "has" : "have"} not ended`,
  ].filter(Boolean);
  return [
    ...(left.length ? [`${left.join(", ")}: means count runs that are done.`] : []),
    ...(archived
      ? [`${pluralize(archived, "archived run")} ${archived === 1 ? "is" : "are"} not counted.`]
      : []),
    ...left_out.map(({ run, reason }) => `Run ${run} is left out: ${reason}`),
  ];
}

function means({ over }: Answer): string[] {
  const name = over?.split(".").at(-1);
  return name ? [`Means over ${name}; ± is one standard deviation of the sample.`] : [];
}

/** Return each refusal of a speed-up once, with the group that it concerns. */
function refusals({ groups }: Answer): string[] {
  const found = groups.flatMap(({ refusals: reasons }) => reasons);
  return [...new Set(found)].map((reason) => `No speed-up: ${reason}.`).slice(0, 5);
}

/** Return a text of the service as a sentence. */
function sentence(text: string): string {
  return capitalized(text) + (text.endsWith(".") ? "" : ".");
}

/** The picture of an answer, by its kind. */
function AnswerPicture({ answer }: { answer: Answer }) {
  const { figure, x, y, groups, picture } = answer;
  if (!figure || !groups.some((group) => group.figure)) return null;
  if (x && y) return <HeatMap answer={answer} figure={figure} x={x} y={y} />;
  if (x) return <LinesPicture answer={answer} figure={figure} x={x} />;
  if (picture === "bars") return <BarsPicture answer={answer} figure={figure} />;
  return groups[0] && <StepTimeBar parts={groups[0].parts} legend />;
}
