/** The best and the last value of a metric for each group: number of runs, mean, deviation, and the best run. */
import { Link } from "wouter";
import type { RunComparison } from "@/shared/api/types";
import { Choice } from "@/shared/controls/Choice";
import { csvText } from "@/shared/files/csv";
import { saveText } from "@/shared/files/save";
import { MISSING } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { LineSwatch } from "@/shared/plot/Legend";
import { seriesKind, titleInText } from "@/shared/series/catalog";
import { figureOf, isBetterWhenHigher, metricNames } from "../groups/fields";
import type { RunGroup } from "../groups/groups";
import type { RunData } from "../groups/runData";
import { type Spread, spreadOf, spreadText } from "@/shared/series/spread";
import styles from "./Tables.module.css";

interface Props {
  comparison: RunComparison;
  data: RunData;
  groups: readonly RunGroup[];
  metric: string;
  onMetric: (metric: string) => void;
}

interface Values {
  group: RunGroup;
  best: Spread | null;
  last: Spread | null;
  bestRun: number | null;
}

export function ValueTable({ comparison, data, groups, metric, onMetric }: Props) {
  const { title, format } = seriesKind(metric);
  const isHigh = isBetterWhenHigher(figureOf("best", metric), comparison);
  const rows = valuesOf(data, groups, metric, isHigh);
  const save = () => {
    saveText(`best-${metric}.csv`.replaceAll("/", "-"), csvText(csvOf(rows)));
  };
  return (
    <section className={classNames("panel", styles.compareTable)} aria-label="Best values">
      <header className={styles.tableHead}>
        <h2>Best values</h2>
        <Choice
          label="Metric"
          value={metric}
          options={metricNames(comparison).map((name) => [name, seriesKind(name).title])}
          onChange={onMetric}
        />
        <button className="button" onClick={save}>
          Data as CSV
        </button>
      </header>
      <ScrollRegion className={classNames("scroll", styles.tableScroll)} label="Best values by group">
        <table>
          <Heads title={`${isHigh ? "Highest" : "Lowest"} ${titleInText({ name: metric, title })}, mean`} />
          <tbody>
            {rows.map((row) => (
              <Row key={row.group.key} row={row} format={format} isHigh={isHigh} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

function Heads({ title }: { title: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">Group</th>
        <th scope="col" className="number">
          Runs
        </th>
        <th scope="col" className="number" title="mean ± one standard deviation of the sample">
          {title}
        </th>
        <th scope="col" className="number">
          Best
        </th>
        <th scope="col">Best run</th>
        <th scope="col" className="number">
          Last, mean
        </th>
      </tr>
    </thead>
  );
}

type Format = (value: number | null) => string;

function Row({ row, format, isHigh }: { row: Values; format: Format; isHigh: boolean }) {
  const { group, best, last, bestRun } = row;
  return (
    <tr>
      <th scope="row">
        <LineSwatch color={group.color} dash={group.dash} /> {group.label}
      </th>
      <td className="number">
        {best?.count === group.ids.length ? group.ids.length : `${best?.count ?? 0} of ${group.ids.length}`}
      </td>
      <td className="number">{spreadText(best, format)}</td>
      <td className="number">{best ? format(isHigh ? best.most : best.least) : MISSING}</td>
      <td>{bestRun === null ? MISSING : <Link href={`/runs/${bestRun}`}>{`Run ${bestRun}`}</Link>}</td>
      <td className="number">{spreadText(last, format)}</td>
    </tr>
  );
}

/** Return the values of the groups, the best mean first; groups without a value come last. */
function valuesOf(data: RunData, groups: readonly RunGroup[], metric: string, isHigh: boolean): Values[] {
  const [best, last] = [figureOf("best", metric), figureOf("last", metric)];
  const rows = groups.map((group): Values => {
    const found = spreadOf(group.ids.map((id) => data.number(id, best)));
    const wanted = isHigh ? found?.most : found?.least;
    return {
      group,
      best: found,
      last: spreadOf(group.ids.map((id) => data.number(id, last))),
      bestRun: group.ids.find((id) => data.number(id, best) === wanted) ?? null,
    };
  });
  const rank = ({ best: spread }: Values) => (spread ? (isHigh ? -spread.mean : spread.mean) : Infinity);
  return rows.toSorted((one, other) => (rank(one) === rank(other) ? 0 : rank(one) - rank(other)));
}

function csvOf(rows: readonly Values[]) {
  const heads = [
    "group",
    "runs",
    "values",
    "mean of best",
    "deviation",
    "least",
    "most",
    "best run",
    "mean of last",
  ];
  const lines = rows.map(({ group, best, last, bestRun }) => {
    const spread = best ?? { count: 0, mean: null, deviation: null, least: null, most: null };
    const { count, mean, deviation, least, most } = spread;
    return [group.label, group.ids.length, count, mean, deviation, least, most, bestRun, last?.mean ?? null];
  });
  return [heads, ...lines];
}
