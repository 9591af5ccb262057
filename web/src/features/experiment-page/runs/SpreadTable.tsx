/** The table of mean and deviation over the seeds of an experiment, of the runs that are done. */
import { ownValue } from "@/shared/format/value";
import type { RunView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { LOSS, seriesKind } from "@/shared/series/catalog";
import { isColumnOf, type Objective, objectiveTitle } from "../objective";
import type { Axis } from "../axes";
import styles from "./RunTable.module.css";
import { type Group, groupRuns, repeatedAxis, type Spread, spreadOf } from "./spread";

interface Props {
  runs: RunView[];
  metrics: string[]; // the series with a column
  objective: Objective | null;
  axes: Axis[];
}

interface Figure {
  title: string;
  of: (run: RunView) => number | null | undefined;
  format: (value: number) => string;
}

export function SpreadTable({ runs, metrics, objective, axes }: Props) {
  const over = repeatedAxis(axes);
  if (!over) return null;
  const others = axes.filter((axis) => axis !== over);
  const figures = figuresOf(metrics, objective);
  return (
    <section className={classNames("panel", styles.runs)} aria-label="Mean and deviation">
      <PanelHeader>
        <h2>Mean ± deviation over {over.name}</h2>
        <span className="small muted">of the runs that are done</span>
      </PanelHeader>
      <ScrollRegion className={styles.spreadScroller} label="Table of means">
        <table className={styles.spreadTable}>
          <thead>
            <tr>
              {others.map(({ path, name }) => (
                <th key={path} scope="col">
                  {name}
                </th>
              ))}
              <th scope="col">Done</th>
              {figures.map(({ title }) => (
                <th key={title} scope="col" className="number">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {groupRuns(runs, axes, over).map((group) => (
              <GroupRow key={JSON.stringify(group.values)} {...{ group, others, figures }} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

function GroupRow({ group, others, figures }: { group: Group; others: Axis[]; figures: Figure[] }) {
  return (
    <tr>
      {others.map(({ path }, index) => (
        <td key={path}>{group.values[index]}</td>
      ))}
      <td>{`${group.done.length} of ${group.runs}`}</td>
      {figures.map(({ title, of, format }) => (
        <td key={title} className="number">
          {spreadText(spreadOf(group.done, of), format)}
        </td>
      ))}
    </tr>
  );
}

/** Return the figures of the columns: the newest values of series, and the values of the objective. */
function figuresOf(metrics: string[], objective: Objective | null): Figure[] {
  const latest = metrics.map((name): Figure => {
    const { title, format } = seriesKind(name);
    return { title: name === LOSS ? "Loss" : title, of: (run) => ownValue(run.latest, name), format };
  });
  if (!objective || isColumnOf(objective, metrics)) return latest;
  const { format } = seriesKind(objective.metric);
  return [...latest, { title: objectiveTitle(objective), of: (run) => run.objective_value, format }];
}

function spreadText(spread: Spread | null, format: Figure["format"]): string {
  if (!spread) return "–";
  return format(spread.mean) + (spread.deviation === null ? "" : ` ± ${format(spread.deviation)}`);
}
