/** The values of a picture as a table, with links to the runs: for reading exactly, and for readers without a picture. */
import { Link } from "wouter";
import type { Answer, AnswerFigure, AnswerGroup } from "@/shared/api/types";
import { formatPercent } from "@/shared/format/number";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./AnswerTable.module.css";
import { BEST_ACCURACY, placeText, secondsText, speedupText, spreadText } from "./figureText";

const MOST_ROWS = 500;
const MOST_LINKS = 8; // runs of a group that are linked

export function AnswerTable({ answer }: { answer: Answer }) {
  const { figure, groups, target } = answer;
  const shown = groups.slice(0, MOST_ROWS);
  return (
    <details className={styles.valueTable}>
      <summary className="small">Values and runs</summary>
      <ScrollRegion className="scroll" label="Values">
        <table className="small">
          <thead>
            <tr>
              <th scope="col">Place</th>
              {titlesOf(answer).map((title) => (
                <th key={title} scope="col" className="number">
                  {title}
                </th>
              ))}
              <th scope="col">done</th>
              <th scope="col">runs</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((group) => (
              <Row
                key={placeText(group, answer)}
                {...{ group, figure, target }}
                hasAccuracy={hasAccuracy(answer)}
                place={placeText(group, answer)}
              />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {groups.length > MOST_ROWS && <p className="small muted">The first {MOST_ROWS} places.</p>}
    </details>
  );
}

/** Return the headings of the columns with numbers. */
function titlesOf(answer: Answer): string[] {
  const { figure, target } = answer;
  return [
    ...(figure ? [figure.title] : []),
    ...(hasAccuracy(answer) ? ["accuracy"] : []),
    ...(target === null ? [] : [`time to ${formatPercent(target)}`, "speed-up"]),
  ];
}

/** Return whether there are accuracies and another figure. */
function hasAccuracy({ figure, groups }: Answer): boolean {
  return figure?.name !== BEST_ACCURACY && groups.some(({ accuracy }) => accuracy);
}

interface RowProps {
  group: AnswerGroup;
  place: string;
  figure: AnswerFigure | null;
  hasAccuracy: boolean;
  target: number | null;
}

function Row({ group, place, figure, hasAccuracy, target }: RowProps) {
  const { to_target, speedup, accuracy, done, runs, diverged } = group;
  return (
    <tr>
      <td>{place}</td>
      {figure && <td className="number">{spreadText(group.figure, figure.unit)}</td>}
      {hasAccuracy && <td className="number">{spreadText(accuracy, "share")}</td>}
      {target !== null && <td className="number">{to_target ? secondsText(to_target.mean) : "–"}</td>}
      {target !== null && <td className="number">{speedupText(speedup)}</td>}
      <td>
        {`${done} of ${runs.length}`}
        {diverged > 0 && `, ${diverged} diverged`}
      </td>
      <td>
        {runs.slice(0, MOST_LINKS).map((id) => (
          <Link key={id} href={`/runs/${id}`} className={styles.runLink ?? ""}>
            {`run ${id}`}
          </Link>
        ))}
        {runs.length > MOST_LINKS && "…"}
      </td>
    </tr>
  );
}
