/** A run as parts of a report: its figures, and its charts as they are on the page, with their data. */
import type { RunDetail } from "@/shared/api/types";
import { csvText } from "@/shared/files/csv";
import { type Block, canvasBlock, runsBlock, textBlock } from "@/shared/reports/blocks";
import { pluralize } from "@/shared/format/number";
import type { AllSeries, Series } from "../series";
import { sectionsOf } from "./sections";

const COLUMNS = ["name", "state", "batch", "optimizer", "loss", "best(heldout_accuracy)", "duration"];

export function blocksOfRun(run: RunDetail, { names, series }: Pick<AllSeries, "names" | "series">): Block[] {
  const places = document.querySelectorAll<HTMLElement>("#main section[aria-label=Curves] [data-series]");
  const pictures = [...places].flatMap((place) => pictureOf(place, run, series));
  const missing = reportedCharts(run, names, series) - pictures.length;
  return [
    runsBlock(`Run ${run.id}`, [run.id], COLUMNS),
    ...pictures,
    ...(missing > 0 ? [textBlock(missingText(run, missing))] : []),
  ];
}

/** Return the picture of a chart of the page; none of one that is not drawn. */
function pictureOf(place: HTMLElement, run: RunDetail, series: Series): Block[] {
  const chart = place.querySelector("[role=slider]");
  const canvas = chart?.querySelector("canvas");
  if (!chart || !canvas) return [];
  const title = (chart.getAttribute("aria-label") ?? "").replace(/, crosshair$/, "");
  const names = JSON.parse(place.dataset.series ?? "[]") as string[];
  return [
    canvasBlock(canvas, { title: `${title} of run ${run.id}`, csv: csvOf(series, names), runs: [run.id] }),
  ];
}

/** Return how many charts of the run have values, drawn or not. */
function reportedCharts(run: RunDetail, names: readonly string[], series: Series): number {
  const groups = sectionsOf(run.spec.kind, names, series).flatMap((section) => section.groups);
  return groups.filter((group) => group.names.some((name) => run.series.includes(name))).length;
}

function missingText(run: RunDetail, missing: number): string {
  const verb = missing === 1 ? "is" : "are";
  return `${pluralize(missing, "chart")} of run ${run.id} ${verb} not here: the page had not drawn ${missing === 1 ? "it" : "them"}.`;
}

/** Return the means of the buckets of a chart's series. */
function csvOf(series: Series, names: readonly string[]): string {
  const lines = names.flatMap((name) => {
    const { steps, values } = series.get(name)?.mean ?? { steps: [], values: [] };
    return steps.map((step, at) => [name, step, values[at] ?? null]);
  });
  return csvText([["series", "step", "mean"], ...lines]);
}
