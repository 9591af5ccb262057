/** The legend of the axes: the pointer on a value highlights its runs, a click hides or shows them. */
import { useState } from "react";
import type { RunView } from "@/shared/api/types";
import { valueKey } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { LegendEntry, LineSwatch } from "@/shared/plot/Legend";
import { type Axis, axisText, runsWith, sortValues } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import styles from "./AxisLegend.module.css";

const MOST_ENTRIES = 24; // of an axis, before a click shows all

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
          <Entries {...{ axis, lineStyles, selection, runs }} />
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

type EntriesProps = Pick<Props, "lineStyles" | "selection" | "runs"> & { axis: Axis };

/** The values of an axis that have a loaded run; of a long list a few, and the number of the others. */
function Entries({ axis, lineStyles, selection, runs }: EntriesProps) {
  const [unfolded, setUnfolded] = useState(false);
  const present = sortValues(axis.values)
    .map((value) => ({ value, keys: runsWith(runs, axis, value).map((run) => String(run.id)) }))
    .filter(({ keys }) => keys.length > 0);
  const shown = unfolded ? present : present.slice(0, MOST_ENTRIES);
  return (
    <>
      {shown.map(({ value, keys }) => (
        <Entry key={valueKey(value)} {...{ axis, value, lineStyles, selection, keys }} />
      ))}
      {present.length > shown.length && (
        <button
          className={classNames("plain small", styles.legendAction)}
          onClick={() => {
            setUnfolded(true);
          }}
        >
          {present.length - shown.length} more
        </button>
      )}
    </>
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
  return (
    <LegendEntry
      isShown={shown}
      onToggle={() => {
        selection.toggle(keys);
      }}
      onPoint={() => {
        selection.highlight(keys);
      }}
      onLeave={() => {
        selection.highlight(null);
      }}
    >
      {axis === lineStyles.colored && <LineSwatch color={lineStyles.color(value)} />}
      {axis === lineStyles.dashed && <LineSwatch color="currentColor" dash={lineStyles.dash(value)} />}
      {axisText(axis, value)}
    </LegendEntry>
  );
}
