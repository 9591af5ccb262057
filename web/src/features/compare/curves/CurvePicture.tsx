/** The picture of curves: bands, pale raw curves, lines, and the point that the reader has chosen. */
import { memo, useId, useMemo, useState } from "react";
import { formatNumber, formatTick } from "@/shared/format/number";
import { type Tick, tickTexts, widthOf } from "@/shared/format/ticks";
import { formatDuration } from "@/shared/format/time";
import { startOfX } from "@/shared/plot/view";
import type { Position } from "@/shared/plot/scales";
import { type Axis, axisOf, type Extent, extentOf, timeUnit } from "@/shared/frame/axis";
import { Explorable } from "@/shared/frame/Explorable";
import { type Box, boxOf, Frame } from "@/shared/frame/Frame";
import { Overlay } from "@/shared/frame/Overlay";
import type { Points } from "./means";
import { valueAt } from "@/shared/curves/column";
import { bandPath, type DrawnLine, linePath } from "./lines";
import styles from "./CurvePicture.module.css";
import { movedPoint, nearestPoint, type Pointed } from "./nearest";
import type { CurveOptions } from "./options";
import { isCounted, X_TITLES, X_UNITS, type XAxis } from "@/shared/curves/xAxis";
import { atPosition } from "@/shared/format/position";
import { type CurveRange, rangeAfter, rangeBetween, rangeMoved, type Shown, useMoves } from "./ranges";

interface Props {
  width: number;
  lines: readonly DrawnLine[];
  options: CurveOptions;
  range: CurveRange;
  title: string;
  yTitle: string;
  format: (value: number | null) => string;
  tick?: Tick;
  pointed: string | null; // the group at which the reader points elsewhere
  onZoom: (range: Extent | null) => void;
}

const HEIGHT = 320;
const TICK_PX = 90;
const Y_TICKS = 6;
const GAP = 8; // between the y axis and its texts

export function CurvePicture({ lines, title, format, options, onZoom, ...picture }: Props) {
  const { width, range } = picture;
  const { yLog, axis } = options;
  const [zoom, move] = useMoves(options.zoom, onZoom);
  const [at, setAt] = useState<Pointed | null>(null);
  const box = useBox(width, range, yLog, picture.tick);
  const { x, shown } = useXAxis(lines, options, box, zoom);
  const y = useMemo(() => axisOf(range, yLog, box.bottom, box.top, { count: Y_TICKS }), [range, yLog, box]);
  const chosen = chosenOf(lines, at);
  return (
    <Explorable
      label={title}
      readout={chosen && readoutOf(chosen, axis, format)}
      at={chosen?.index ?? 0}
      count={chosen?.line.points.x.length ?? 0}
      onPointer={(place) => {
        setAt(place && nearestPoint(lines, place, x.at, y.at));
      }}
      onKey={(key, shiftKey) => {
        const range = rangeAfter({ key, shiftKey }, shown, chosen && placeOf(chosen));
        const next = range === undefined ? movedPoint(lines, at, key) : at;
        if (range !== undefined) onZoom(range);
        if (next !== at) setAt(next);
        return range !== undefined || next !== at;
      }}
      onDrag={(from, to) => {
        const range = rangeBetween(x, from, to);
        if (range) onZoom(range);
      }}
      onMove={zoom && mover(shown, move)}
    >
      <Picture {...picture} {...{ lines, title, axis, box, x, y }} />
      {chosen && (
        <Overlay width={width} height={HEIGHT} box={box}>
          <Chosen {...chosen} atX={x.at} atY={y.at} box={box} />
        </Overlay>
      )}
    </Explorable>
  );
}

interface ChosenPoint {
  line: DrawnLine;
  index: number;
}

function mover(shown: Shown, move: (range: Extent | null) => void): (share: number) => void {
  return (share) => {
    move(rangeMoved(shown, share));
  };
}

function placeOf({ line, index }: ChosenPoint): number | null {
  return line.points.x[index] ?? null;
}

/** Return the x axis of a zoomed range, and that range with the full one. */
function useXAxis(
  lines: readonly DrawnLine[],
  { axis, xLog }: CurveOptions,
  box: Box,
  zoom: Extent | null,
): { x: Axis; shown: Shown } {
  const [low, high] = [zoom?.low, zoom?.high];
  const x = useMemo(
    () => xAxis(lines, axis, xLog, box, rangeOfX(low, high, xLog)),
    [lines, axis, xLog, box, low, high],
  );
  const full = useMemo(() => xAxis(lines, axis, xLog, box, null), [lines, axis, xLog, box]);
  return { x, shown: { low: x.low, high: x.high, full, isLog: xLog } };
}

function chosenOf(lines: readonly DrawnLine[], at: Pointed | null): ChosenPoint | null {
  const line = at ? lines[at.line] : undefined;
  return line && at ? { line, index: at.index } : null;
}

interface PictureProps extends Omit<Props, "options" | "range" | "format" | "onZoom"> {
  axis: XAxis;
  box: Box;
  x: Axis;
  y: Axis;
}

/** The picture without the chosen point; a pointer that moves from point to point does not draw it again. */
const Picture = memo(function Picture(props: PictureProps) {
  const { width, lines, title, yTitle, tick, pointed, axis, box, x, y } = props;
  const clip = useId();
  return (
    <Frame
      {...{ width, box }}
      height={HEIGHT}
      label={title}
      x={{ axis: x, title: X_TITLES[axis], tick: xTick(axis) }}
      y={{ axis: y, title: yTitle, ...(tick ? { tick } : {}) }}
    >
      <clipPath id={clip}>
        <rect x={box.left} y={box.top} width={box.right - box.left} height={box.bottom - box.top} />
      </clipPath>
      <g clipPath={`url(#${clip})`}>
        <Lines {...{ lines, box, pointed }} atX={x.at} atY={y.at} />
      </g>
    </Frame>
  );
});

/** Return the zoomed range if there is one that the axis can show. */
function rangeOfX(low: number | undefined, high: number | undefined, isLog: boolean): Extent | null {
  if (low === undefined || high === undefined || (isLog && low <= 0)) return null;
  return { low, high };
}

function xAxis(
  lines: readonly DrawnLine[],
  axis: XAxis,
  isLog: boolean,
  box: Box,
  zoom: Extent | null,
): Axis {
  const ends = lines.flatMap(({ points: { x } }): (number | undefined)[] =>
    isLog ? [...x] : [x[0], x.at(-1)],
  );
  const extent = zoom ?? extentOf(ends, isLog) ?? { low: isLog ? 1 : 0, high: isLog ? 10 : 1 };
  const low = isLog || zoom ? extent.low : startOfX(extent.low, extent.high);
  const unit = axis === "seconds" ? timeUnit(extent.high) : 1;
  const count = (box.right - box.left) / TICK_PX;
  return axisOf({ low, high: extent.high }, isLog, box.left, box.right, {
    count,
    unit,
    isWhole: isCounted(axis),
  });
}

/** Return the box of the picture: the texts of the y axis have room on its left. */
function useBox(width: number, range: CurveRange, isLog: boolean, tick: Tick | undefined): Box {
  return useMemo(() => {
    const { ticks } = axisOf(range, isLog, HEIGHT, 0, { count: Y_TICKS });
    return boxOf(width, HEIGHT, widthOf(tickTexts(ticks, tick)) + 2 * GAP);
  }, [width, range, isLog, tick]);
}

function xTick(axis: XAxis): Tick {
  return axis === "seconds" ? (value) => (value ? formatDuration(value) : "0") : formatTick;
}

/** Return "lars, batch 256: 0.4312 at step 1,200". */
function readoutOf(
  { line, index }: { line: DrawnLine; index: number },
  axis: XAxis,
  format: (value: number | null) => string,
): string {
  const { points, band, label } = line;
  const [value, high] = [points.y[index] ?? null, band?.high[index] ?? null];
  const spread = value !== null && high !== null ? ` ± ${formatNumber(high - value, 2)}` : "";
  return `${label}: ${format(value)}${spread} ${atPosition(points.x[index] ?? 0, X_UNITS[axis])}`;
}

interface LinesProps {
  lines: readonly DrawnLine[];
  box: Box;
  atX: Position;
  atY: Position;
  pointed: string | null;
}

function Lines({ lines, box, atX, atY, pointed }: LinesProps) {
  const paths = useMemo(
    () =>
      lines.map((line) => ({
        line,
        d: linePath(line.points, atX, atY),
        raw: line.raw && linePath(line.raw, atX, atY),
        band: line.band && bandPath(line.band, atX, atY, box.bottom),
      })),
    [lines, atX, atY, box],
  );
  const opacity = bandOpacity(pointed === null ? lines.length : 1);
  const isOther = (group: string) => pointed !== null && pointed !== group;
  return (
    <>
      <g>
        {paths.map(
          ({ line: { key, color, group }, band }) =>
            band && !isOther(group) && <path key={key} d={band} fill={color} fillOpacity={opacity} />,
        )}
        {paths.map(
          ({ line: { key, color }, raw }) =>
            raw && <path key={key} className={styles.rawCurve} d={raw} stroke={color} />,
        )}
        {paths.map(({ line: { key, color, dash, group }, d }) => (
          <path
            key={key}
            className={isOther(group) ? styles.fadedCurve : styles.curve}
            d={d}
            stroke={color}
            strokeDasharray={dash.join(" ")}
          />
        ))}
      </g>
      {lines.flatMap(({ key, color, restarts, points }) =>
        ringsOf(restarts, points, atX, atY).map(([cx, cy]) => (
          <circle key={`${key} ${cx}`} className={styles.restart} {...{ cx, cy }} r={3.5} stroke={color} />
        )),
      )}
      {lines.map(({ key, color, notFinite }) => (
        <path key={key} className={styles.notFinite} d={crosses(notFinite, atX, box)} stroke={color} />
      ))}
    </>
  );
}

/** Return the positions of the rings where a run resumed. */
function ringsOf(restarts: readonly number[], { x, y }: Points, atX: Position, atY: Position) {
  return restarts.flatMap((place): [number, number][] => {
    const value = valueAt(x, y, place);
    const [cx, cy] = [atX(place), value === null ? Number.NaN : atY(value)];
    return Number.isNaN(cx + cy) ? [] : [[cx, cy]];
  });
}

/** Return the opacity of each of so many bands, through which the others are seen. */
function bandOpacity(count: number): number {
  return Math.min(0.16, Math.max(0.03, 0.7 / count));
}

const MOST_CROSSES = 200; // a diverged run has a value that is not finite at every step

/** Crosses at the lower edge, where values are NaN or infinite. */
function crosses(places: readonly number[], atX: Position, { bottom }: Box): string {
  return places
    .slice(0, MOST_CROSSES)
    .map((place) => `M${Math.round(atX(place)) - 4} ${bottom - 8}l8 8m0 -8l-8 8`)
    .join("");
}

function Chosen({
  line,
  index,
  box,
  atX,
  atY,
}: { line: DrawnLine; index: number } & Omit<LinesProps, "lines" | "pointed">) {
  const { points, color, dash } = line;
  const d = useMemo(() => linePath(points, atX, atY), [points, atX, atY]);
  const [px, value] = [atX(points.x[index] ?? 0), points.y[index] ?? null];
  return (
    <>
      {line.band && (
        <path d={bandPath(line.band, atX, atY, box.bottom)} fill={color} fillOpacity={bandOpacity(1)} />
      )}
      <path className={styles.chosenCurve} d={d} stroke={color} strokeDasharray={dash.join(" ")} />
      <line className={styles.crosshair} x1={px} x2={px} y1={box.top} y2={box.bottom} />
      {value !== null && <circle cx={px} cy={atY(value)} r={4.5} fill={color} />}
    </>
  );
}
