/** The table of mean and deviation over the seeds of an experiment, of the runs that are done. */
import type { RunView } from "@/shared/api/types";
import { distinctTexts, ownValue, valueKey } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { LOSS, seriesKind } from "@/shared/series/catalog";
import { type Axis, axisValue } from "../axes";
import { spreadOf, spreadText } from "@/shared/series/spread";
import { isColumnOf, type Objective, objectiveTitle } from "../objective";
import styles from "./RunTable.module.css";

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
          {spreadText(spreadOf(group.done.map(of)), format)}
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

interface Group {
  values: string[]; // of the other axes, in their order
  runs: number;
  done: RunView[];
}

/** Return the axis that repeats the runs, which is a seed with several values. */
function repeatedAxis(axes: Axis[]): Axis | null {
  const seed = axes.find(({ path }) => path === "seed" || path === "parameters.seed");
  return seed && seed.values.length > 1 ? seed : null;
}

/** Return the groups of runs that differ at the axis `over` alone, in the order of their first runs. */
export function groupRuns(runs: RunView[], axes: Axis[], over: Axis): Group[] {
  const others = axes.filter((axis) => axis !== over);
  const texts = others.map((axis) => textsOf(runs.map((run) => axisValue(run, axis))));
  const groups = new Map<string, Group>();
  for (const run of runs) {
    const values = others.map((axis, at) => texts[at]?.get(valueKey(axisValue(run, axis))) ?? "");
    const key = JSON.stringify(values);
    const group = groups.get(key) ?? { values, runs: 0, done: [] };
    group.runs += 1;
    if (run.state === "done") group.done.push(run);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Return the texts of values by their keys, different ones of different values: of 1 and "1". */
function textsOf(values: readonly unknown[]): Map<string, string> {
  const found = new Map(values.map((value) => [valueKey(value), value]));
  const texts = distinctTexts([...found.values()]);
  return new Map([...found.keys()].map((key, at) => [key, texts[at] ?? ""]));
}
