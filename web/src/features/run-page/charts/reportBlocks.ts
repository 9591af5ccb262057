/** A run as parts of a report: its figures, and its charts as they are on the page, with their data. */
import type { RunDetail } from "@/shared/api/types";
import { csvText } from "@/shared/files/csv";
import { type Block, canvasBlock, runsBlock } from "@/shared/reports/blocks";
import { seriesKind } from "@/shared/series/catalog";
import type { Series } from "../api/usePoints";

const COLUMNS = ["name", "state", "batch", "optimizer", "loss", "best(heldout_accuracy)", "duration"];

export function blocksOfRun(run: RunDetail, series: Series): Block[] {
  const charts = [
    ...document.querySelectorAll<HTMLElement>("#main section[aria-label=Curves] [role=slider]"),
  ];
  return [
    runsBlock(`Run ${run.id}`, [run.id], COLUMNS),
    ...charts.flatMap((chart) => {
      const canvas = chart.querySelector("canvas");
      const title = (chart.getAttribute("aria-label") ?? "").replace(/, crosshair$/, "");
      if (!canvas) return [];
      return [
        canvasBlock(canvas, {
          title: `${title} of run ${run.id}`,
          csv: csvOf(series, title),
          runs: [run.id],
        }),
      ];
    }),
  ];
}

/** Return the means of the buckets of a chart's series; of a chart of several series those that its title names. */
function csvOf(series: Series, title: string): string {
  const lines = [...series]
    .filter(([name]) => seriesKind(name).title.toLowerCase().includes(title.toLowerCase()))
    .flatMap(([name, { mean }]) => mean.steps.map((step, at) => [name, step, mean.values[at] ?? null]));
  return csvText([["series", "step", "mean"], ...lines]);
}
