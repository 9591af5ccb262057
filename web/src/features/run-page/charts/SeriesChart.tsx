/** A chart of the run page: a few series, and above the chart their values at the crosshair or the newest ones. */
import { type ReactNode, type RefObject, useMemo, useRef, useState } from "react";
import type { Column } from "@/shared/api/types";
import { alignColumns, type Aligned, smooth } from "@/shared/curves/column";
import type { Curve, NotFinite } from "@/shared/curves/curve";
import { changeZoom, type StepRange } from "@/shared/curves/view";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { formatTick } from "@/shared/format/number";
import { formatPosition, type Unit } from "@/shared/format/position";
import type { LegendEntry } from "@/shared/files/picture";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { LineSwatch } from "@/shared/plot/Legend";
import { category, ramp } from "@/shared/plot/palette";
import { csvOfChart, type Line, type View } from "@/shared/plot/view";
import { type Picture, Plot } from "@/shared/plot/Plot";
import { kindOfValues, seriesKind, type SeriesKind } from "@/shared/series/catalog";
import { baseOf, rankOf, systemOf } from "@/shared/series/names";
import { type Theme, useTheme } from "@/shared/theme/theme";
import type { Series } from "../series";
import { ChartPanel } from "./ChartPanel";
import styles from "./SeriesChart.module.css";

const MOST_VALUES = 6; // above a chart; of more series their range

export interface SeriesChartProps {
  title: string;
  names: string[];
  series: Series;
  run: number; // its id
  sync: string;
  xMin?: number; // the first x of all charts
  xMax: number; // steps taken
  restarts: readonly number[]; // steps from which an attempt resumed
  smoothed?: boolean;
  logarithmic?: boolean;
  unit?: Unit;
  empty?: string; // the text of a chart without values
  range?: StepRange; // zoomed
  children?: ReactNode;
}

interface Layer {
  column: Column;
  line: Line;
  notFinite: NotFinite[];
  kind: SeriesKind | null; // null for the raw line behind a smoothed one
  raw: Line | null; // of a smoothed line: the one behind it, which is the layer before
}

export function SeriesChart({ title, names, series, restarts, children, ...options }: SeriesChartProps) {
  const { run, sync, xMin = 0, xMax, empty, range = null } = options;
  const { smoothed = false, logarithmic = false, unit = "step" } = options;
  const picture = useRef<Picture>(null);
  const [index, setIndex] = useState<number | null>(null);
  const { layers, aligned } = useLayers(names, series, smoothed);
  const values = valuesOf(layers, aligned, series, index);
  return (
    <ChartPanel title={title}>
      <PanelHeader
        actions={
          <>
            {children}
            <Download {...{ title, run, picture, values, layers, aligned, unit }} />
          </>
        }
      >
        <h2 className={styles.chartTitle} title={title}>
          {title}
        </h2>
        <Values values={values} at={index === null ? null : formatPosition(aligned.x[index] ?? 0, unit)} />
      </PanelHeader>
      <Plot
        {...{ title, unit, aligned }}
        height={200}
        lines={layers.map((layer) => layer.line)}
        notFinite={layers.map((layer) => layer.notFinite)}
        readout={values.length > MOST_VALUES ? rangeText(values) : values.map(valueText).join(", ")}
        {...scaleOf(values[0]?.kind)}
        {...{ logarithmic, sync, picture, xMin, xMax }}
        marks={restarts}
        onIndex={setIndex}
        range={range}
        onRange={changeZoom}
        empty={empty}
      />
    </ChartPanel>
  );
}

/** Return the series with values, their lines, and the values of the lines on one x axis. */
function useLayers(names: string[], series: Series, smoothed: boolean) {
  const theme = useTheme();
  const shown = useMemo(() => names.filter((name) => series.has(name)), [names, series]);
  const layers = useMemo(() => allLayers(shown, series, smoothed, theme), [shown, series, smoothed, theme]);
  const aligned = useMemo(() => alignColumns(layers.map((layer) => layer.column)), [layers]);
  return { layers, aligned };
}

function allLayers(names: string[], series: Series, smoothed: boolean, theme: Theme): Layer[] {
  return kindsOf(names).flatMap((kind, at) => {
    const curve = series.get(kind.name);
    const suited = kindOfValues(kind, curve ? [curve.envelope.values] : []);
    return layersOf(suited, curve, smoothed, colorOf(at, names.length, theme));
  });
}

/** Return the ticks and the ceiling of the chart whose first series is of this kind. */
function scaleOf(kind: SeriesKind | undefined): Pick<View, "tick" | "ceiling"> {
  const { tick = formatTick, ceiling } = kind ?? {};
  return ceiling === undefined ? { tick } : { tick, ceiling };
}

interface Value {
  line: Line;
  kind: SeriesKind;
  value: number | null; // at the crosshair, else the newest one, as it was reported
  smoothed: number | null; // of the smoothed line there
}

/** Return the value of each line, and of a smoothed line its own beside what was reported. */
function valuesOf(layers: Layer[], aligned: Aligned, series: Series, index: number | null): Value[] {
  return layers.flatMap(({ line, kind, raw }, at): Value[] => {
    if (!kind) return [];
    const drawn = valueAt(aligned, raw === null ? at : at - 1, index);
    const newest = series.get(kind.name)?.last.values.at(-1) ?? null;
    const value = index === null ? newest : drawn;
    return [{ line, kind, value, smoothed: raw === null ? null : valueAt(aligned, at, index) }];
  });
}

function Values({ values, at }: { values: Value[]; at: string | null }) {
  return (
    <div className={styles.chartValues}>
      {values.length > MOST_VALUES ? (
        <span>{rangeText(values)}</span>
      ) : (
        values.map(({ line, kind, value, smoothed }) => (
          <span key={line.key}>
            {values.length > 1 && <LineSwatch color={line.color} dash={line.dash} />}
            {values.length > 1 && <span className="muted">{kind.title} </span>}
            <b>{kind.format(value)}</b>
            {smoothed !== null && <span className="muted">smoothed {kind.format(smoothed)}</span>}
          </span>
        ))
      )}
      {at !== null && <span className="muted small">{at}</span>}
    </div>
  );
}

interface DownloadProps {
  title: string;
  run: number;
  picture: RefObject<Picture | null>;
  values: Value[];
  layers: Layer[];
  aligned: Aligned;
  unit: Unit;
}

function Download({ title, run, picture, values, layers, aligned, unit }: DownloadProps) {
  if (!aligned.x.length) return null;
  return (
    <DownloadMenu
      picture={() => picture.current?.() ?? null}
      title={`${title}, run ${run}`}
      runs={[run]}
      legend={values.length > 1 ? values.map(({ line, kind }) => entryOf(line, kind)) : []}
      csv={() => csvOfChart({ lines: layers.map(({ line }) => line), aligned }, ["series", unit, "value"])}
      isSmall
    />
  );
}

function entryOf({ color, dash = [] }: Line, { title }: SeriesKind): LegendEntry {
  return { label: title, color, dash };
}

function valueText({ kind, value, smoothed }: Value): string {
  const also = smoothed === null ? "" : ` (smoothed ${kind.format(smoothed)})`;
  return `${kind.title} ${kind.format(value)}${also}`;
}

/** Return "64 ranks: 0.41 to 0.45". */
function rangeText(values: Value[]): string {
  const numbers = values.flatMap(({ value }) => value ?? []);
  const format = values[0]?.kind.format ?? String;
  const noun = systemOf(values[0]?.kind.name ?? "") ? "curves" : "ranks";
  return `${values.length} ${noun}: ${format(Math.min(...numbers))} to ${format(Math.max(...numbers))}`;
}

/** Return distinct colors for a few lines, and a ramp over the ranks for many. */
function colorOf(at: number, count: number, theme: Theme): string {
  return count > MOST_VALUES ? ramp(at / (count - 1), theme) : category(at, theme);
}

/** Return the kinds of the series; the title of a single series of several ranks is the rank, "rank 3". */
function kindsOf(names: string[]): SeriesKind[] {
  const isByRank = names.length > 1 && new Set(names.map(baseOf)).size === 1;
  return names.map((name) => ({
    ...seriesKind(name),
    ...(isByRank ? { title: `rank ${rankOf(name) ?? 0}` } : {}),
  }));
}

/** Return two lines for a noisy series, faint raw values behind smoothed ones; otherwise one line. */
function layersOf(kind: SeriesKind, curve: Curve | undefined, smoothed: boolean, color: string): Layer[] {
  if (!curve) return [];
  const { envelope: column, notFinite } = curve;
  const { name } = kind;
  const line = { key: name, label: kind.title, color, dots: true };
  if (!kind.noisy || !smoothed) return [{ column, kind, line, notFinite, raw: null }];
  const raw: Line = { ...line, key: `${name} raw`, behind: true, dots: false };
  return [
    { column, kind: null, line: raw, notFinite, raw: null },
    { column: smooth(curve.mean), kind, line, notFinite: [], raw },
  ];
}

/** Return the value at the crosshair, or the last one before it. */
function valueAt(aligned: Aligned, at: number, index: number | null): number | null {
  const values = aligned.ys[at] ?? [];
  let found = Math.min(index ?? values.length - 1, values.length - 1);
  while (found > 0 && values[found] === undefined) found -= 1;
  return values[found] ?? null;
}
