/** A panel with a box for each group: quartiles, whiskers, and a dot for each run. */
import { type Axis, axisOf, extentOf, padded } from "@/shared/frame/axis";
import { Frame } from "@/shared/frame/Frame";
import { fieldHead, fieldTitle } from "../groups/fields";
import type { RunData } from "../groups/runData";
import styles from "./BoxPanel.module.css";
import type { PanelProps } from "./panels";
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

export function BoxPanel({ panel, place, onOptions, ids, comparison, data, groups }: PanelProps) {
  const field = boxField(panel, comparison);
  const isLog = panel.options.xlog === "on";
  const all = rowsOf(data, groups.visible, field);
  const title = `${fieldHead(field)} by group`;
  return (
    <RowsPanel
      {...{ place, onOptions, ids, comparison, title, field, all }}
      option={{ name: "xlog", label: "log axis", isOn: isLog }}
      csv={() => csvOf(all)}
    >
      {(width, rows) => (
        <BoxPicture {...{ width, rows, field, isLog, title, data }} pointed={groups.pointed} />
      )}
    </RowsPanel>
  );
}

function csvOf(rows: readonly ValueRow[]) {
  const heads = ["group", "runs", "least", "first quartile", "median", "third quartile", "greatest"];
  const lines = rows.map(({ group, values }) => {
    const found = boxOfValues(values);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return [
      group.label,
      values.length,
      least,
      found?.q1 ?? null,
      found?.median ?? null,
      found?.q3 ?? null,
      most,
    ];
  });
  return [heads, ...lines];
}

interface PictureProps {
  width: number;
  rows: readonly ValueRow[];
  field: string;
  isLog: boolean;
  title: string;
  data: RunData;
  pointed: string | null;
}

function BoxPicture({ width, rows, field, isLog, title, data, pointed }: PictureProps) {
  const { box, height, letters } = rowBox(width, rows);
  const extent = extentOf(
    rows.flatMap(({ values }) => values),
    isLog,
  ) ?? { low: 1, high: 10 };
  const ticks = { count: (box.right - box.left) / TICK_PX, unit: data.unit(field, extent.high) };
  const x = axisOf(padded(extent, isLog), isLog, box.left, box.right, ticks);
  return (
    <Frame
      {...{ width, height, box }}
      label={title}
      x={{ axis: x, title: fieldTitle(field), tick: (value, distance) => data.tick(field, value, distance) }}
    >
      <RowLabels rows={rows} left={box.left} letters={letters} />
      {rows.map((row, index) => (
        <BoxRow
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

function BoxRow({ row, x, y, isFaded }: { row: ValueRow; x: Axis; y: number; isFaded: boolean }) {
  const { group, values } = row;
  const found = boxOfValues(values);
  if (!found) return null;
  const shown = values.filter((value) => !Number.isNaN(x.at(value)));
  const [q1, median, q3] = [x.at(found.q1), x.at(found.median), x.at(found.q3)];
  const hasBox = values.length > 1 && ![q1, median, q3].some(Number.isNaN);
  return (
    <g className={isFaded ? styles.fadedRow : styles.boxRow}>
      {hasBox && (
        <g stroke={group.color} fill={group.color}>
          <path d={`M${x.at(found.low)} ${y}H${q1}M${q3} ${y}H${x.at(found.high)}`} />
          <rect x={q1} y={y - 8} width={Math.max(1, q3 - q1)} height={16} fillOpacity={0.18} />
          <path d={`M${median} ${y - 8}v16`} strokeWidth={2.5} />
        </g>
      )}
      {shown.map((value, index) => (
        <circle key={index} className={styles.valueDot} cx={x.at(value)} cy={y} r={2.6} fill={group.color} />
      ))}
    </g>
  );
}

export interface BoxFigures {
  q1: number;
  median: number;
  q3: number;
  low: number; // the least value that is no outlier
  high: number;
  count: number;
}

const REACH = 1.5; // interquartile ranges from the box to the end of a whisker (Tukey)

/** Return the quantile of sorted values at a share, on the line between two values (type 7 of Hyndman and Fan). */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN];
  return below + (above - below) * (at - Math.floor(at));
}

/** Return the figures of the values; null without any. */
export function boxOfValues(values: readonly number[]): BoxFigures | null {
  if (!values.length) return null;
  const sorted = values.toSorted((one, other) => one - other);
  const [q1, median, q3] = [quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)];
  const reach = REACH * (q3 - q1);
  const inside = sorted.filter((value) => value >= q1 - reach && value <= q3 + reach);
  return { q1, median, q3, low: inside[0] ?? q1, high: inside.at(-1) ?? q3, count: sorted.length };
}
