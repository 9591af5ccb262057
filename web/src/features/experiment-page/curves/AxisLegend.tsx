/** The legend of the axes: the pointer on a value highlights its runs, a click hides or shows them. */
import type { RunView } from "@/shared/api/types";
import { valueText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { LineSwatch } from "@/shared/plot/LineSwatch";
import { type Axis, runsWith, sortValues } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import styles from "./AxisLegend.module.css";

interface Props {
  axes: Axis[];
  lineStyles: LineStyles;
  runs: RunView[];
  selection: Selection;
  onColorBy: (path: string) => void;
}

export function AxisLegend({ axes, lineStyles, runs, selection, onColorBy }: Props) {
  const varied = axes.filter((axis) => axis.values.length > 1);
  if (!varied.length) return null;
  return (
    <div className={styles.axisLegend}>
      {varied.map((axis) => (
        <div key={axis.path} className={styles.legendAxis} role="group" aria-label={axis.path}>
          <span className={styles.legendName} title={axis.path}>
            {axis.name}
          </span>
          {sortValues(axis.values).map((value) => (
            <Entry
              key={valueText(value)}
              {...{ axis, value, lineStyles, selection }}
              keys={runsWith(runs, axis, value).map((run) => String(run.id))}
            />
          ))}
          {varied.length > 1 && lineStyles.colored !== axis && (
            <button
              className={classNames("plain small", styles.legendAction)}
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
        <button className={classNames("plain small", styles.legendAction)} onClick={selection.showAll}>
          show all
        </button>
      )}
    </div>
  );
}

interface EntryProps {
  axis: Axis;
  value: unknown;
  lineStyles: LineStyles;
  selection: Selection;
  keys: string[];
}

function Entry({ axis, value, lineStyles, selection, keys }: EntryProps) {
  const shown = keys.some((key) => !selection.hidden.has(key));
  const highlight = () => {
    selection.highlight(keys);
  };
  const clearHighlight = () => {
    selection.highlight(null);
  };
  return (
    <button
      className={styles.legendEntry}
      aria-pressed={shown}
      disabled={!keys.length}
      onClick={() => {
        selection.toggle(keys);
      }}
      onPointerEnter={highlight}
      onPointerLeave={clearHighlight}
      onFocus={highlight}
      onBlur={clearHighlight}
    >
      {axis === lineStyles.colored && <LineSwatch color={lineStyles.color(value)} />}
      {axis === lineStyles.dashed && <LineSwatch color="currentColor" dash={lineStyles.dash(value)} />}
      {valueText(value)}
    </button>
  );
}
