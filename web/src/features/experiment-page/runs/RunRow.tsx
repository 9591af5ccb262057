/** One run in the table; pointing at it lights its curve. */
import { Link } from "wouter";
import type { RunView } from "@/shared/api/types";
import { count, figure, percent } from "@/shared/format/number";
import { valueText } from "@/shared/format/value";
import { Swatch } from "@/shared/plot/LineSwatch";
import { HELDOUT_ACCURACY, LOSS } from "@/shared/series/catalog";
import { StateMark } from "@/shared/state/StateMark";
import type { Axis, Inks } from "@/features/experiment-page/lineStyles";
import type { Selection } from "@/features/experiment-page/useSelection";

interface Props {
  run: RunView;
  axes: Axis[];
  inks: Inks;
  selection: Selection;
  best: boolean;
}

export function RunRow({ run, axes, inks, selection, best }: Props) {
  const key = String(run.id);
  const { color, dash } = inks.of(run);
  const hidden = selection.hidden.has(key);
  const light = () => {
    selection.light([key]);
  };
  const unlight = () => {
    selection.light(null);
  };
  return (
    <tr
      className={rowClass(selection.lit?.has(key) ?? false, hidden)}
      onPointerEnter={light}
      onPointerLeave={unlight}
    >
      <th scope="row">
        <span className="run-cell">
          <button
            className="plain run-swatch"
            aria-pressed={!hidden}
            aria-label={`curve of run ${run.id}`}
            onClick={() => {
              selection.toggle([key]);
            }}
          >
            <Swatch color={color} dash={dash} />
          </button>
          <Link href={`/runs/${run.id}`} onFocus={light} onBlur={unlight}>
            {`Run ${run.id}`}
          </Link>
        </span>
      </th>
      {axes.map((axis) => (
        <td key={axis.path}>{valueText(run.values[axis.path])}</td>
      ))}
      <td>
        <StateMark state={run.state} stopping={run.stopping} />
        {run.state === "failed" && run.reason && <span className="run-reason small">{run.reason}</span>}
      </td>
      <td>
        <Progress run={run} />
      </td>
      <td className="number">{figure(run.latest[LOSS])}</td>
      <td className={best ? "number best" : "number"}>
        {best && <span className="visually-hidden">best: </span>}
        {percent(run.latest[HELDOUT_ACCURACY])}
      </td>
    </tr>
  );
}

function Progress({ run }: { run: RunView }) {
  return (
    <div className="run-progress">
      <span className="meter" aria-hidden="true" data-state={run.state}>
        <i style={{ width: `${(run.step / run.steps) * 100}%` }} />
      </span>
      <span className="small muted">
        {run.step === run.steps ? count(run.steps) : `${count(run.step)} of ${count(run.steps)}`}
      </span>
    </div>
  );
}

function rowClass(lit: boolean, hidden: boolean): string {
  return `${lit ? "lit" : ""} ${hidden ? "put-away" : ""}`;
}
