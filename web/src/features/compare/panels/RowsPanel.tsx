/** A panel with a row for each group: the value to choose, one switch, and a picture of the first rows. */
import type { ReactNode } from "react";
import type { RunComparison } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import type { CsvValue } from "@/shared/files/csv";
import type { Box } from "@/shared/frame/Frame";
import { figureOf, metricNames, numberFields } from "../groups/fields";
import type { RunGroup } from "../groups/groups";
import type { RunData } from "../groups/runData";
import { PanelFrame } from "./PanelFrame";
import { FieldChoice } from "./PanelOptions";
import type { Panel, PanelProps } from "./panels";
import styles from "./RowsPanel.module.css";

interface Props extends Pick<PanelProps, "place" | "onOptions" | "ids" | "comparison"> {
  title: string;
  field: string;
  option: { name: string; label: string; isOn: boolean }; // the switch
  all: readonly ValueRow[];
  csv: () => CsvValue[][];
  children: (width: number, rows: readonly ValueRow[]) => ReactNode;
}

export function RowsPanel({ title, field, option, all, csv, children, ...panel }: Props) {
  const { place, onOptions, ids, comparison } = panel;
  const rows = all.slice(0, MOST_ROWS);
  return (
    <PanelFrame
      title={title}
      place={place}
      runs={ids}
      legend={[]}
      csv={csv}
      options={
        <>
          <FieldChoice
            label="Value"
            value={field}
            fields={numberFields(comparison)}
            onChange={(value) => {
              onOptions({ field: value });
            }}
          />
          <Switch
            on={option.isOn}
            onChange={(isOn) => {
              onOptions({ [option.name]: isOn ? "on" : "" });
            }}
          >
            {option.label}
          </Switch>
        </>
      }
      note={all.length > MOST_ROWS && `The first ${MOST_ROWS} of ${all.length} groups; the data have all.`}
      empty={rows.length ? null : "No visible run has this value."}
    >
      {(width) => children(width, rows)}
    </PanelFrame>
  );
}

export const ROW = 28; // pixels
const MOST_ROWS = 60;
export const TICK_PX = 90; // between two ticks
const LETTER = 6.4; // about the width of a letter of 12 pixels
const MOST_LABEL = 0.4; // of the picture's width

export interface ValueRow {
  group: RunGroup;
  values: number[];
}

/** Return the groups that have values. */
export function rowsOf(data: RunData, groups: readonly RunGroup[], field: string): ValueRow[] {
  return groups
    .map((group) => ({ group, values: group.ids.flatMap((id) => data.number(id, field) ?? []) }))
    .filter(({ values }) => values.length > 0);
}

/** Return the box to the right of the labels, and the height of the picture. */
export function rowBox(
  width: number,
  rows: readonly ValueRow[],
): { box: Box; height: number; letters: number } {
  const longest = Math.max(...rows.map(({ group }) => group.label.length), 4);
  const left = Math.min(longest * LETTER + 14, width * MOST_LABEL);
  const bottom = 10 + rows.length * ROW;
  return {
    box: { left, right: width - 22, top: 6, bottom },
    height: bottom + 40,
    letters: Math.floor((left - 14) / LETTER),
  };
}

export function rowMiddle(index: number): number {
  return 10 + (index + 0.5) * ROW;
}

/** Return a label that fits; a longer one ends with an ellipsis. */
function shortLabel(label: string, letters: number): string {
  return label.length <= letters ? label : `${label.slice(0, Math.max(1, letters - 1))}…`;
}

interface RowLabelsProps {
  rows: readonly ValueRow[];
  left: number; // of the data
  letters: number;
}

/** The labels of a picture's rows. */
export function RowLabels({ rows, left, letters }: RowLabelsProps) {
  return (
    <g className={styles.rowLabels}>
      {rows.map(({ group }, index) => (
        <text key={group.key} x={left - 10} y={rowMiddle(index)} dy="0.35em" textAnchor="end">
          <title>{group.label}</title>
          {shortLabel(group.label, letters)}
        </text>
      ))}
    </g>
  );
}

/**
 * The field that a box plot or bars draw.
 *
 * Return the field of the address; by default the best value of the most useful metric, else the duration.
 */
export function boxField({ options }: Panel, comparison: Pick<RunComparison, "metrics">): string {
  if (options.field) return options.field;
  const [metric] = metricNames(comparison);
  return metric === undefined ? "duration" : figureOf("best", metric);
}
