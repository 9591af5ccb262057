/** The table of an experiment's runs: the values of the axes, state, progress and results; the service sorts all runs. */
import { Link } from "wouter";
import { usePollInterval } from "@/shared/api/polling";
import type { TableRow } from "@/shared/api/types";
import { formatCount } from "@/shared/format/number";
import { shortened, valueText } from "@/shared/format/value";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { LineSwatch } from "@/shared/plot/Legend";
import { StateCell, stateText } from "@/shared/run-table/cells";
import { type Cell, figureOf, metricOf, nextSort } from "@/shared/run-table/columns";
import { ExportMenu } from "@/shared/run-table/ExportMenu";
import { type RunColumn, RunTable as Table } from "@/shared/run-table/RunTable";
import { SelectionBar } from "@/shared/run-table/SelectionBar";
import { useRowSelection } from "@/shared/run-table/useRowSelection";
import { LOSS, seriesKind } from "@/shared/series/catalog";
import { hasEnded, stepShare } from "@/shared/state/state";
import { type Axis, axisText, axisValue } from "../axes";
import type { LineStyles } from "../lineStyles";
import { isColumnOf, objectiveField, objectiveTitle } from "../objective";
import { kindOf, type ShownExperiment } from "../shownExperiment";
import type { Selection } from "../useSelection";
import styles from "./RunTable.module.css";

interface Props {
  experiment: ShownExperiment;
  metrics: string[]; // the series with a column
  axes: Axis[];
  lineStyles: LineStyles;
  selection: Selection; // of curves
}

const STEP: RunColumn = {
  ...{ field: "step_name", title: "Step", width: 90, isNumeric: false },
  textOf: (_, cell) => (typeof cell === "string" ? cell : ""),
  render: (_, cell) => (typeof cell === "string" ? cell : ""),
};
const NUMBER = "number"; // the order without a choice

export function RunTable({ experiment, metrics, axes, lineStyles, selection }: Props) {
  const sort = useAddress().get("sort") || NUMBER;
  const rows = useRowSelection();
  const pollInterval = usePollInterval();
  const columns = columnsOf(experiment, axes, metrics);
  const asked = {
    where: experiment.step === null ? "" : `step_name = ${experiment.step}`,
    q: "",
    sort,
    columns: columns.map(({ field }) => field),
    archived: false,
    experiment: experiment.id,
  };
  const point = (row: TableRow | null) => {
    selection.highlight(row && [String(row.id)]);
  };
  return (
    <section className={styles.runs} aria-label="Table of runs">
      <PanelHeader actions={<ExportMenu asked={asked} />}>
        <h2>Runs</h2>
      </PanelHeader>
      <SelectionBar selection={rows} columns={asked.columns} />
      <Table
        label="Runs"
        asked={asked}
        columns={columns}
        every={pollInterval(!hasEnded(experiment.state))}
        selection={rows}
        onSort={(field) => {
          const metric = metricOf(field);
          changeSort(nextSort(sort, field === "id" ? NUMBER : field, metric, isHigh(metric, experiment)));
        }}
        renderRun={(row) => <RunCell {...{ row, lineStyles, selection }} onPoint={point} />}
        onPoint={point}
        isMarked={(row) => selection.highlighted?.has(String(row.id)) ?? false}
      />
    </section>
  );
}

/** Return whether the first click on the heading of a column brings its greatest value to the top. */
function isHigh(metric: string | null, { objective }: ShownExperiment): boolean | undefined {
  return metric !== null && metric === objective?.metric ? objective.goal === "max" : undefined;
}

function changeSort(sort: string): void {
  changeAddress({ sort: sort === NUMBER ? "" : sort });
}

function columnsOf(experiment: ShownExperiment, axes: Axis[], metrics: string[]): RunColumn[] {
  return [
    ...(kindOf(experiment) === "steps" ? [STEP] : []),
    ...axes.map((axis): RunColumn => ({
      ...{ field: axis.path, title: axis.name, width: 90, isNumeric: false },
      textOf: (row) => shortAxisText(axis, axisValue(row, axis)),
      render: (row) => shortAxisText(axis, axisValue(row, axis)),
    })),
    {
      ...{ field: "state", title: "State", width: 130, isNumeric: false },
      textOf: stateText,
      render: (row) => <StateCell row={row} />,
    },
    {
      ...{ field: "progress", title: "Progress", width: 210, isNumeric: false },
      render: (row) => <Progress row={row} />,
    },
    ...metrics.map((name) => metricColumn(name, experiment)),
    ...objectiveColumn(experiment, metrics),
  ];
}

/** Return the text of a value, of a fraction a short one: a sampler draws sixteen digits. */
function shortAxisText(axis: Axis, value: unknown): string {
  const short = shortened(value);
  return short === value ? axisText(axis, value) : valueText(short);
}

function metricColumn(name: string, { objective, best }: ShownExperiment): RunColumn {
  const { title, format } = seriesKind(name);
  const isObjective = objective?.metric === name && isColumnOf(objective, [name]);
  return {
    ...{ field: figureOf("last", name), title: name === LOSS ? "Loss" : title, width: 110, isNumeric: true },
    render: (_, cell) => <Value {...{ cell, format }} best={isObjective ? best : null} />,
  };
}

/** Return the column with the values of the objective: the headline of the page is the best of them, over all runs. */
function objectiveColumn({ objective, best }: ShownExperiment, metrics: string[]): RunColumn[] {
  if (!objective || isColumnOf(objective, metrics)) return [];
  const { format } = seriesKind(objective.metric);
  return [
    {
      ...{ field: objectiveField(objective), title: objectiveTitle(objective), width: 130, isNumeric: true },
      render: (_, cell) => <Value {...{ cell, format, best }} />,
    },
  ];
}

interface ValueProps {
  cell: Cell;
  format: (value: number | null) => string;
  best: ShownExperiment["best"];
}

/** A value, with a mark if it is the best one of the experiment. */
function Value({ cell, format, best }: ValueProps) {
  const isBest = best !== null && cell === best.value;
  return (
    <span className={classNames(isBest && styles.best)}>
      {isBest && <span className="visually-hidden">best: </span>}
      {format(typeof cell === "number" ? cell : null)}
    </span>
  );
}

interface RunCellsProps {
  row: TableRow;
  lineStyles: LineStyles;
  selection: Selection;
  onPoint: (row: TableRow | null) => void;
}

function RunCell({ row, lineStyles, selection, onPoint }: RunCellsProps) {
  const key = String(row.id);
  const hidden = selection.hidden.has(key);
  return (
    <>
      <button
        className={classNames("plain", styles.curveToggle, hidden && styles.hiddenRun)}
        aria-pressed={!hidden}
        aria-label={`curve of run ${row.id}`}
        onClick={() => {
          selection.toggle([key]);
        }}
      >
        <LineSwatch {...lineStyles.of(row)} />
      </button>
      <Link
        href={`/runs/${row.id}`}
        onFocus={() => {
          onPoint(row);
        }}
        onBlur={() => {
          onPoint(null);
        }}
      >
        {`Run ${row.id}`}
      </Link>
    </>
  );
}

function Progress({ row }: { row: TableRow }) {
  const { step, steps } = row;
  return (
    <div className={styles.runProgress}>
      {steps > 0 && (
        <span className={styles.runMeter} aria-hidden="true" data-state={row.state}>
          <i style={{ width: `${(stepShare(row) ?? 0) * 100}%` }} />
        </span>
      )}
      <span className="small muted">
        {step === steps || !steps ? formatCount(step) : `${formatCount(step)} of ${formatCount(steps)}`}
      </span>
    </div>
  );
}
