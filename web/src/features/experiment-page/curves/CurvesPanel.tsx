/** The panel of the overlaid curves: toolbar, readout, chart and legend. */
import { type RefObject, useMemo, useRef, useState } from "react";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import type { Aligned, Values } from "@/shared/curves/column";
import { changeZoom, useZoom } from "@/shared/curves/view";
import { X_SERIES, X_TITLES, X_UNITS } from "@/shared/curves/xAxis";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { formatTick, pluralize } from "@/shared/format/number";
import { atPosition, type Unit } from "@/shared/format/position";
import { valuesText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import { type Picture, Plot } from "@/shared/plot/Plot";
import { csvOfChart, type Line, RESTART_NOTE, type View, visibleLines } from "@/shared/plot/view";
import type { YRange } from "@/shared/plot/yRange";
import { kindOfValues, type SeriesKind, titleInText } from "@/shared/series/catalog";
import type { Axis } from "../axes";
import { legendOf, type LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import { AxisLegend } from "./AxisLegend";
import styles from "./CurvesPanel.module.css";
import { type CurveOptions, CurvesToolbar, useCurveOptions } from "./CurvesToolbar";
import { type Overlay, useOverlay, useYRange } from "./useOverlay";

interface Props {
  experiment: ExperimentDetail;
  runs: RunView[];
  axes: Axis[];
  lineStyles: LineStyles;
  selection: Selection;
  onColorBy: (path: string) => void;
}

export function CurvesPanel({ experiment, runs, axes, lineStyles, selection, onColorBy }: Props) {
  const { options: chosen, ...toolbar } = useCurveOptions(experiment, runs);
  const [index, setIndex] = useState<number | null>(null);
  const picture = useRef<Picture>(null);
  const zoomed = useZoom();
  const overlay = useOverlay(experiment, runs, lineStyles, chosen, zoomed);
  const options = useSuited(chosen, overlay.aligned);
  const { kind } = options;
  const unit = X_UNITS[options.axis];
  const byKey = new Map(runs.map((run) => [String(run.id), run]));
  const readout = readoutText({ ...overlay, runs: byKey, kind, unit }, selection, index);
  const empty = emptyText(overlay, runs, options, toolbar.kinds.length > 0);
  const visible = visibleLines({ lines: overlay.lines, hidden: selection.hidden }).length;
  const { range, hasRange } = useYRange(overlay, options, selection.hidden);
  return (
    <section className={classNames("panel", styles.curvesPanel)} aria-label="Curves">
      <CurvesToolbar {...toolbar} options={options} hasRange={hasRange}>
        <Download {...{ experiment, options, overlay, picture, axes, lineStyles, selection }} />
      </CurvesToolbar>
      <p className={classNames("small", styles.readout)} data-testid="readout">
        {readout ?? (empty === null && <Hint isLoading={!overlay.lines.length} />)}
      </p>
      <Plot
        {...overlay}
        {...scaleOf(options)}
        {...{ empty, unit, picture }}
        title={kind.title}
        height={360}
        readout={readout ?? `${pluralize(visible, "curve")}, press up or down to select one`}
        yRange={range}
        hidden={selection.hidden}
        highlighted={selection.highlighted}
        selectsNearest
        onIndex={setIndex}
        range={zoomed}
        onRange={changeZoom}
        onSelect={(key) => {
          selection.highlight(key ? [key] : null);
        }}
      />
      <Notes {...{ range, kind }} restarts={overlay.restarts} />
      <AxisLegend {...{ axes, lineStyles, runs, selection, onColorBy }} />
    </section>
  );
}

/** Return the options with the kind of the series that suits all its values. */
function useSuited(options: CurveOptions, { ys }: Aligned): CurveOptions {
  const kind = useMemo(() => kindOfValues(options.kind, ys), [options.kind, ys]);
  return { ...options, kind };
}

interface DownloadProps extends Pick<Props, "experiment" | "axes" | "lineStyles" | "selection"> {
  options: CurveOptions;
  overlay: Overlay;
  picture: RefObject<Picture | null>;
}

function Download({ experiment, options, overlay, picture, axes, lineStyles, selection }: DownloadProps) {
  const { kind, axis } = options;
  const { hidden } = selection;
  if (!overlay.aligned.x.length) return null;
  return (
    <DownloadMenu
      picture={() => picture.current?.() ?? null}
      title={`${kind.title} by ${X_TITLES[axis]}, ${experiment.name}`}
      runs={overlay.lines.map(({ key }) => Number(key))}
      legend={legendOf(axes, lineStyles)}
      csv={() => csvOfChart({ ...overlay, hidden }, ["run", X_TITLES[axis], kind.name])}
      isSmall
    />
  );
}

/** Return how the chart draws values of the series. */
function scaleOf({ kind, logarithmic }: CurveOptions): Pick<View, "tick" | "logarithmic" | "ceiling"> {
  return {
    tick: kind.tick ?? formatTick,
    logarithmic: logarithmic && (kind.logarithmic ?? false),
    ...(kind.ceiling === undefined ? {} : { ceiling: kind.ceiling }),
  };
}

function Hint({ isLoading }: { isLoading: boolean }) {
  if (isLoading) return <>Loading the curves…</>;
  return <span className={styles.readoutHint}>↑ and ↓ select a curve</span>;
}

/** Return what stands in the place of the picture if no run has a value. */
function emptyText(
  { lines, aligned }: { lines: Line[]; aligned: Aligned },
  runs: RunView[],
  { kind, axis }: CurveOptions,
  hasKinds: boolean,
): string | null {
  const series = X_SERIES[axis];
  if (
    series &&
    lines.length &&
    !aligned.x.length &&
    !runs.some(({ latest }) => Object.hasOwn(latest, series))
  )
    return `No run has reported ${X_TITLES[axis]} yet.`;
  if (lines.length || runs.some(({ latest }) => Object.hasOwn(latest, kind.name))) return null;
  return `No run has reported a ${hasKinds ? titleInText(kind) : "value"} yet.`;
}

interface NotesProps extends Pick<Overlay, "restarts"> {
  range: YRange | null;
  kind: SeriesKind;
}

function Notes({ range, kind, restarts }: NotesProps) {
  const hasRings = restarts.some((places) => places.length > 0);
  return (
    <>
      {range && range.cut > 0 && <CutNote range={range} kind={kind} />}
      {hasRings && <p className="small muted">{RESTART_NOTE}</p>}
    </>
  );
}

/** How many curves leave the picture, and what it shows. */
function CutNote({ range, kind }: { range: YRange; kind: SeriesKind }) {
  return (
    <p className="small muted">
      {pluralize(range.cut, "curve")} {range.cut === 1 ? "leaves" : "leave"} the picture, which shows{" "}
      {kind.format(range.low)} to {kind.format(range.high)}.
    </p>
  );
}

interface Drawn {
  lines: Line[];
  aligned: Aligned;
  runs: ReadonlyMap<string, RunView>; // by the keys of their lines
  kind: SeriesKind;
  unit: Unit;
}

/**
 * The readout of the overlaid curves: the value of the single curve that is highlighted or visible.
 *
 * Return "Run 12, rate 0.4, batch 512: 93.10% at step 480" at the crosshair; null for several curves.
 */
function readoutText(
  drawn: Drawn,
  { hidden, highlighted }: Pick<Selection, "hidden" | "highlighted">,
  index: number | null,
): string | null {
  const { lines, aligned, runs, kind, unit } = drawn;
  const visible = visibleLines({ lines, hidden });
  const selected = visible.filter(({ key }) => highlighted?.has(key));
  const [line, another] = selected.length ? selected : visible;
  const run = line && runs.get(line.key);
  if (!run || another) return null;
  const column = aligned.ys[lines.indexOf(line)];
  const at = indexWithValue(column, index);
  const values = valuesText(run.values);
  const position = atPosition(aligned.x[at] ?? 0, unit);
  return `Run ${run.id}${values && `, ${values}`}: ${kind.format(column?.[at])} ${position}`;
}

/** Return the index of the crosshair, or the last index before it that has a value. */
function indexWithValue(column: Values | undefined, index: number | null): number {
  if (!column) return 0;
  let at = Math.min(index ?? column.length - 1, column.length - 1);
  while (at > 0 && typeof column[at] !== "number") at -= 1;
  return at;
}
