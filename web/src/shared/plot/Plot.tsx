/** A chart in its frame, as wide as its container; pointer and arrow keys move the crosshair. */
import type { KeyboardEvent } from "react";
import "uplot/dist/uPlot.min.css";
import { formatPosition, type Unit } from "@/shared/format/position";
import { classNames } from "@/shared/page/classNames";
import styles from "./Plot.module.css";
import type { Chart } from "./chart";
import { useChart } from "./useChart";
import { nextLine, type View } from "./view";

interface Props extends View {
  title: string;
  readout: string; // the values at the crosshair, or the newest ones, as text
  unit?: Unit; // of x
  height?: number;
}

const KEYS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageDown: -25,
  PageUp: 25,
  Home: -1e9,
  End: 1e9,
};

/** The step from the highlighted line to the next one. */
const LINE_STEPS: Record<string, 1 | -1> = { ArrowUp: -1, ArrowDown: 1 };

export function Plot({ title, readout, unit = "step", height = 200, ...view }: Props) {
  const { host, chart, index, zoomed } = useChart(view);
  const { x } = view.aligned;

  function onKeyDown(event: KeyboardEvent) {
    if (!chart.current || !applyKey(event.key, chart.current, view)) return;
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
        aria-valuetext={x.length ? `${formatPosition(at, unit)}: ${readout}` : "no points yet"}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
      />
      <span className={styles.plotUnit} aria-hidden="true">
        {unit}
      </span>
      {zoomed && (
        <button
          className={classNames("button small", styles.unzoomButton)}
          onClick={() => chart.current?.unzoom()}
        >
          Reset zoom
        </button>
      )}
    </div>
  );
}

/** Apply a key to the chart: move the crosshair or the selection; return whether the key has a meaning. */
function applyKey(key: string, chart: Chart, view: View): boolean {
  const by = KEYS[key];
  const lineStep = view.selectsNearest && LINE_STEPS[key];
  if (key === "Escape") clear(chart, view);
  else if (by) chart.step(by);
  else if (lineStep) view.onSelect?.(nextLine(view, lineStep));
  else return false;
  return true;
}

/** Remove the crosshair and the selection. */
function clear(chart: Chart, view: View): void {
  chart.moveTo(undefined);
  view.onSelect?.(null);
}
