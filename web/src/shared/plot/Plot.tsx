/** A chart in its frame: as wide as there is room, its crosshair moved by pointer or by arrow keys. */
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import "uplot/dist/uPlot.min.css";
import { count } from "@/shared/format/number";
import { useTheme } from "@/shared/theme/theme";
import { Chart } from "./chart";
import "./plot.css";
import type { View } from "./view";

interface Props extends View {
  title: string;
  reading: string; // the values at the crosshair, or the newest ones, in words
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

export function Plot({ title, reading, height = 200, ...view }: Props) {
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
    if (event.key === "Escape") chart.current?.point(undefined);
    else if (by) chart.current?.step(by);
    else return;
    event.preventDefault();
  }

  const step = x[index ?? x.length - 1] ?? 0;
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
        aria-valuenow={step}
        aria-valuetext={x.length ? `step ${count(step)}: ${reading}` : "no points yet"}
        onKeyDown={onKeyDown}
        onBlur={() => chart.current?.point(undefined)}
      />
      {zoomed && (
        <button className="button small unzoom" onClick={() => chart.current?.unzoom()}>
          all steps
        </button>
      )}
    </div>
  );
}
