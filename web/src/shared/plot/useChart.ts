/** The chart of a component: created with it, updated with each view, repainted for each theme. */
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTheme } from "@/shared/theme/theme";
import { Chart } from "./chart";
import type { View } from "./view";

interface ChartState {
  host: RefObject<HTMLDivElement | null>; // the element that contains the chart
  chart: RefObject<Chart | null>;
  index: number | null; // of the crosshair in aligned.x
  zoomed: boolean;
}

export function useChart(view: View): ChartState {
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
    const onZoom = (now: boolean) => {
      setZoomed(now);
    };
    chart.current?.show({ ...view, onIndex, onZoom });
  });

  useEffect(() => chart.current?.repaint(), [theme]);
  return { host, chart, index, zoomed };
}
