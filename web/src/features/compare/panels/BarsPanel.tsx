/** A panel with a bar for each group: the mean of a figure, and one standard deviation around it. */
import { fieldTitle, isBetterWhenHigher } from "../groups/fields";
import type { RunData } from "../groups/runData";
import type { PanelProps } from "./panels";
import { spreadOf } from "@/shared/series/spread";
import { type Axis, axisOf, extentOf } from "@/shared/frame/axis";
import styles from "./BarsPanel.module.css";
import { Frame } from "@/shared/frame/Frame";
import {
  boxField,
  rowBox,
  RowLabels,
  rowMiddle,
  rowsOf,
  RowsPanel,
  TICK_PX,
  type ValueRow,
} from "./RowsPanel";

export function BarsPanel({ panel, place, onOptions, ids, comparison, data, groups }: PanelProps) {
  const field = boxField(panel, comparison);
  const isSorted = panel.options.sorted === "on";
  const found = rowsOf(data, groups.visible, field);
  const all = isSorted ? bestFirst(found, isBetterWhenHigher(field, comparison)) : found;
  const title = `Mean of ${fieldTitle(field)} by group`;
  return (
    <RowsPanel
      {...{ place, onOptions, ids, comparison, title, field, all }}
      option={{ name: "sorted", label: "best first", isOn: isSorted }}
      csv={() => csvOf(all)}
    >
      {(width, rows) => <BarsPicture {...{ width, rows, field, title, data }} pointed={groups.pointed} />}
    </RowsPanel>
  );
}

function meanOf({ values }: ValueRow): number {
  return spreadOf(values)?.mean ?? 0;
}

function bestFirst(rows: readonly ValueRow[], isHigh: boolean): ValueRow[] {
  return rows.toSorted((one, other) => (isHigh ? -1 : 1) * (meanOf(one) - meanOf(other)));
}

function csvOf(rows: readonly ValueRow[]) {
  const lines = rows.map(({ group, values }) => {
    const spread = spreadOf(values);
    return [group.label, values.length, spread?.mean ?? null, spread?.deviation ?? null];
  });
  return [["group", "runs", "mean", "deviation"], ...lines];
}

interface PictureProps {
  width: number;
  rows: readonly ValueRow[];
  field: string;
  title: string;
  data: RunData;
  pointed: string | null;
}

/** Bars begin at 0: their lengths are the values. */
function BarsPicture({ width, rows, field, title, data, pointed }: PictureProps) {
  const { box, height, letters } = rowBox(width, rows);
  const ends = rows.flatMap(({ values }) => {
    const spread = spreadOf(values);
    return spread ? [spread.mean - (spread.deviation ?? 0), spread.mean + (spread.deviation ?? 0)] : [];
  });
  const extent = extentOf([0, ...ends]) ?? { low: 0, high: 1 };
  const shown = extent.low < extent.high ? extent : { low: 0, high: 1 };
  const ticks = { count: (box.right - box.left) / TICK_PX, unit: data.unit(field, shown.high) };
  const x = axisOf(shown, false, box.left, box.right, ticks);
  return (
    <Frame
      {...{ width, height, box }}
      label={title}
      x={{ axis: x, title: fieldTitle(field), tick: (value, distance) => data.tick(field, value, distance) }}
    >
      <RowLabels rows={rows} left={box.left} letters={letters} />
      {rows.map((row, index) => (
        <BarRow
          key={row.group.key}
          row={row}
          x={x}
          y={rowMiddle(index)}
          isFaded={pointed !== null && pointed !== row.group.key}
        />
      ))}
    </Frame>
  );
}

function BarRow({ row, x, y, isFaded }: { row: ValueRow; x: Axis; y: number; isFaded: boolean }) {
  const spread = spreadOf(row.values);
  if (!spread) return null;
  const [zero, end] = [x.at(0), x.at(spread.mean)];
  const deviation = spread.deviation ?? 0;
  const [low, high] = [x.at(spread.mean - deviation), x.at(spread.mean + deviation)];
  return (
    <g className={isFaded ? styles.fadedBar : styles.groupBar}>
      <rect
        x={Math.min(zero, end)}
        y={y - 8}
        width={Math.max(1, Math.abs(end - zero))}
        height={16}
        rx={1.5}
        fill={row.group.color}
      />
      {deviation > 0 && (
        <path
          className={styles.deviationBar}
          d={`M${low} ${y}H${high}M${low} ${y - 4}v8M${high} ${y - 4}v8`}
        />
      )}
    </g>
  );
}
