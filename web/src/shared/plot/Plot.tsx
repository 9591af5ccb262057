/** A chart in its frame, as wide as its container; pointer and arrow keys move the crosshair. */
import {
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import "uplot/dist/uPlot.min.css";
import type { StepRange } from "@/shared/curves/view";
import { formatPosition, type Unit } from "@/shared/format/position";
import { classNames } from "@/shared/page/classNames";
import { useTheme } from "@/shared/theme/theme";
import { Chart } from "./chart";
import { ChartBoundary } from "./ChartBoundary";
import { chartPicture } from "./chartPicture";
import styles from "./Plot.module.css";
import { hasPositive, hasValues, nextLine, NO_LOG, type View } from "./view";

interface Props extends View {
  title: string;
  readout: string; // the values at the crosshair, or the newest ones, as text
  empty?: string | null | undefined; // the text in the place of a chart without values; null: values are being loaded
  unit?: Unit; // of x
  height?: number;
  picture?: RefObject<Picture | null>; // makes the picture of a file
}

export type Picture = () => SVGSVGElement | null;

const KEYS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageDown: -25,
  PageUp: 25,
  Home: -1e9,
  End: 1e9,
};

/** With Shift: the share of its width by which a zoomed range of x moves. */
const MOVES: Record<string, number> = { ArrowLeft: -0.25, ArrowRight: 0.25 };

/** The factor by which the range of x becomes wider. */
const ZOOMS: Record<string, number> = { "+": 0.5, "=": 0.5, "-": 2 };

/** The step from the highlighted line to the next one. */
const LINE_STEPS: Record<string, 1 | -1> = { ArrowUp: -1, ArrowDown: 1 };

export function Plot({ empty = "No value reported.", height = 200, ...chart }: Props) {
  const reason = empty !== null && !hasValues(chart) ? empty : logReason(chart);
  const nothing = (text: string) => (
    <p className={classNames("muted", styles.noValues)} style={{ height }}>
      {text}
    </p>
  );
  if (reason !== null) return nothing(reason);
  return (
    <ChartBoundary
      of={chart.aligned}
      fallback={(error) => nothing(`This chart cannot be drawn: ${error.message}.`)}
    >
      <DrawnPlot {...chart} height={height} />
    </ChartBoundary>
  );
}

/** Return why a logarithmic chart is empty; null if it is not. */
function logReason(chart: View): string | null {
  const hasCrosses = chart.notFinite?.some((each) => each.length > 0);
  const isEmpty = chart.logarithmic && chart.aligned.x.length > 0 && !hasPositive(chart) && !hasCrosses;
  return isEmpty ? NO_LOG : null;
}

function DrawnPlot({ title, readout, unit = "step", height, picture, ...data }: Omit<Props, "empty">) {
  const view: View = { ...data, isTime: unit === "s", isCounted: unit === "step" || unit === "samples" };
  const { host, chart, index, zoomed } = useChart(view);
  useImperativeHandle(picture, () => () => {
    const shown = chart.current?.shown();
    return shown ? chartPicture(view, shown, unitText(unit)) : null;
  });
  const { x } = view.aligned;

  function onKeyDown(event: KeyboardEvent) {
    if (!chart.current || !applyKey(event, chart.current, view)) return;
    event.preventDefault();
  }

  function onBlur() {
    if (chart.current) clear(chart.current, view);
  }

  const at = x[index ?? x.length - 1] ?? 0;
  return (
    <div className={styles.plotFrame}>
      <div
        ref={host}
        className={styles.plot}
        style={{ height }}
        role="slider"
        tabIndex={0}
        aria-label={`${title}, crosshair`}
        aria-valuemin={x[0] ?? 0}
        aria-valuemax={x.at(-1) ?? 0}
        aria-valuenow={at}
        aria-valuetext={`${formatPosition(at, unit)}: ${readout}`}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
      />
      <span className={styles.plotUnit} aria-hidden="true">
        {unitText(unit)}
      </span>
      {zoomed && <ResetZoom onClick={() => chart.current?.unzoom()} />}
    </div>
  );
}

function ResetZoom({ onClick }: { onClick: () => void }) {
  return (
    <button
      className={classNames("button small", styles.unzoomButton)}
      title="Show all steps. A drag with the Shift key moves the range"
      {...{ onClick }}
    >
      Reset zoom
    </button>
  );
}

function unitText(unit: Unit): string {
  return unit === "s" ? "time" : unit;
}

/** Apply a key to the chart: crosshair, selection or range of x; return whether the key has a meaning. */
function applyKey(event: KeyboardEvent, chart: Chart, view: View): boolean {
  if (event.ctrlKey || event.metaKey) return false;
  const { key } = event;
  const by = KEYS[key];
  const lineStep = view.selectsNearest && LINE_STEPS[key];
  if (key === "Escape") clear(chart, view);
  else if (applyRangeKey(event, chart)) return true;
  else if (by) chart.step(by);
  else if (lineStep) view.onSelect?.(nextLine(view, lineStep));
  else return false;
  return true;
}

/** Apply a key that moves the range of x, or makes it narrower or wider. */
function applyRangeKey({ key, shiftKey }: KeyboardEvent, chart: Chart): boolean {
  const move = shiftKey && MOVES[key];
  const zoom = ZOOMS[key];
  if (move) chart.pan(move);
  else if (zoom) chart.zoom(zoom);
  else return false;
  return true;
}

/** Remove the crosshair and the selection. */
function clear(chart: Chart, view: View): void {
  chart.moveTo(undefined);
  view.onSelect?.(null);
}

interface ChartState {
  host: RefObject<HTMLDivElement | null>; // the element that contains the chart
  chart: RefObject<Chart | null>;
  index: number | null; // of the crosshair in aligned.x
  zoomed: boolean;
}

/** The chart of a component: created with it, updated with each view, repainted for each theme. */
function useChart(view: View): ChartState {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const [index, setIndex] = useState<number | null>(null);
  const [zoomed, setZoomed] = useState(false);
  const theme = useTheme();

  useLayoutEffect(() => {
    if (!host.current) return;
    const created = new Chart(host.current);
    chart.current = created;
    return () => {
      created.destroy();
      chart.current = null;
    };
  }, []);

  useLayoutEffect(() => {
    const onIndex = (at: number | null) => {
      setIndex(at);
      view.onIndex?.(at);
    };
    const onRange = (range: StepRange) => {
      setZoomed(range !== null);
      view.onRange?.(range);
    };
    chart.current?.show({ ...view, onIndex, onRange });
  });

  useEffect(() => chart.current?.repaint(), [theme]);
  return { host, chart, index, zoomed };
}
