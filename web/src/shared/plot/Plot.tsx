/** A chart in its frame: as wide as there is room, read by pointer or by arrow keys. */
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import "uplot/dist/uPlot.min.css";
import { placeText, type Unit } from "@/shared/format/position";
import { useTheme } from "@/shared/theme/theme";
import { Chart } from "./chart";
import "./plot.css";
import { nextLine, type View } from "./view";

interface Props extends View {
  title: string;
  reading: string; // the values at the crosshair, or the newest ones, in words
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

/** Which of the lines that can be picked is next. */
const TURNS: Record<string, 1 | -1> = { ArrowUp: -1, ArrowDown: 1 };

export function Plot({ title, reading, unit = "step", height = 200, ...view }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const [index, setIndex] = useState<number | null>(null);
  const [zoomed, setZoomed] = useState(false);
  const theme = useTheme();
  const { x } = view.sheet;

  useLayoutEffect(() => {
    if (!host.current) return;
    const made = new Chart(host.current);
    chart.current = made;
    return () => {
      made.destroy();
      chart.current = null;
    };
  }, []);

  useLayoutEffect(() => {
    const onIndex = (at: number | null) => {
      setIndex(at);
      view.onIndex?.(at);
    };
    const onZoom = (now: boolean) => {
      setZoomed(now);
    };
    chart.current?.show({ ...view, onIndex, onZoom });
  });

  useEffect(() => chart.current?.repaint(), [theme]);

  function onKeyDown(event: KeyboardEvent) {
    const by = KEYS[event.key];
    const turn = view.seeks && TURNS[event.key];
    if (event.key === "Escape") leave();
    else if (by) chart.current?.step(by);
    else if (turn) view.onNear?.(nextLine(view, turn));
    else return;
    event.preventDefault();
  }

  function leave() {
    chart.current?.point(undefined);
    view.onNear?.(null);
  }

  const at = x[index ?? x.length - 1] ?? 0;
  return (
    <div className="plot-frame">
      <div
        ref={host}
        className="plot"
        style={{ height }}
        role="slider"
        tabIndex={0}
        aria-label={`${title}, crosshair`}
        aria-valuemin={x[0] ?? 0}
        aria-valuemax={x.at(-1) ?? 0}
        aria-valuenow={at}
        aria-valuetext={x.length ? `${placeText(at, unit)}: ${reading}` : "no points yet"}
        onKeyDown={onKeyDown}
        onBlur={leave}
      />
      <span className="plot-unit" aria-hidden="true">
        {unit}
      </span>
      {zoomed && (
        <button className="button small unzoom" onClick={() => chart.current?.unzoom()}>
          all steps
        </button>
      )}
    </div>
  );
}
