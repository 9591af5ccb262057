/** The chart of a component: created with it, updated with each view, repainted for each theme. */
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { StepRange } from "@/shared/curves/view";
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
    const onRange = (range: StepRange) => {
      setZoomed(range !== null);
      view.onRange?.(range);
    };
    chart.current?.show({ ...view, onIndex, onRange });
  });

  useEffect(() => chart.current?.repaint(), [theme]);
  return { host, chart, index, zoomed };
}
