/** The axes as legend: a value lights its runs when pointed at, and puts them away when pressed. */
import type { RunView } from "@/shared/api/types";
import { valueText } from "@/shared/format/value";
import { Swatch } from "@/shared/plot/LineSwatch";
import { type Axis, having, type Inks, ordered } from "@/features/experiment-page/lineStyles";
import type { Selection } from "@/features/experiment-page/useSelection";

interface Props {
  axes: Axis[];
  inks: Inks;
  runs: RunView[];
  selection: Selection;
  onColorBy: (path: string) => void;
}

export function AxisLegend({ axes, inks, runs, selection, onColorBy }: Props) {
  const varied = axes.filter((axis) => axis.values.length > 1);
  if (!varied.length) return null;
  return (
    <div className="legend">
      {varied.map((axis) => (
        <div key={axis.path} className="legend-axis" role="group" aria-label={axis.path}>
          <span className="legend-name" title={axis.path}>
            {axis.name}
          </span>
          {ordered(axis.values).map((value) => (
            <Entry
              key={valueText(value)}
              {...{ axis, value, inks, selection }}
              keys={having(runs, axis, value).map((run) => String(run.id))}
            />
          ))}
          {varied.length > 1 && inks.colored !== axis && (
            <button
              className="plain legend-recolor small"
              onClick={() => {
                onColorBy(axis.path);
              }}
            >
              color by {axis.name}
            </button>
          )}
        </div>
      ))}
      {selection.hidden.size > 0 && (
        <button className="plain legend-recolor small" onClick={selection.showAll}>
          show all
        </button>
      )}
    </div>
  );
}

interface EntryProps {
  axis: Axis;
  value: unknown;
  inks: Inks;
  selection: Selection;
  keys: string[];
}

function Entry({ axis, value, inks, selection, keys }: EntryProps) {
  const shown = keys.some((key) => !selection.hidden.has(key));
  const light = () => {
    selection.light(keys);
  };
  const unlight = () => {
    selection.light(null);
  };
  return (
    <button
      className="legend-entry"
      aria-pressed={shown}
      disabled={!keys.length}
      onClick={() => {
        selection.toggle(keys);
      }}
      onPointerEnter={light}
      onPointerLeave={unlight}
      onFocus={light}
      onBlur={unlight}
    >
      {axis === inks.colored && <Swatch color={inks.color(value)} />}
      {axis === inks.dashed && <Swatch color="currentColor" dash={inks.dash(value)} />}
      {valueText(value)}
    </button>
  );
}
