/** The blocks of a report: pictures of the page with their data, tables of runs, texts. */
import type { components } from "@/shared/api/schema";
import { type LegendEntry, pictureAddress } from "@/shared/files/picture";
import { pagePath } from "@/shared/page/root";

export type Block = components["schemas"]["AddedBlock"]["content"];

interface Picture {
  title: string;
  legend: readonly LegendEntry[];
  csv: string;
  runs: readonly number[];
}

const MOST_RUNS = 500; // of one block

/** Return the block of an SVG picture as it is on the page. */
export function pictureBlock(picture: SVGSVGElement, { title, legend, csv, runs }: Picture): Block {
  return {
    ...pictureFields(title, csv, runs),
    image: pictureAddress(picture, { title, legend }),
  };
}

/** Return the block of a canvas as it is on the page. */
export function canvasBlock(canvas: HTMLCanvasElement, { title, csv, runs }: Omit<Picture, "legend">): Block {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext("2d");
  if (context) {
    // the canvas of a chart is transparent
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
  }
  return { ...pictureFields(title, csv, runs), image: copy.toDataURL("image/png") };
}

export function runsBlock(title: string, runs: readonly number[], columns: readonly string[]): Block {
  return { kind: "runs", title, run_ids: runs.slice(0, MOST_RUNS), columns: [...columns] };
}

export function textBlock(markdown: string): Block {
  return { kind: "text", markdown };
}

function pictureFields(title: string, csv: string, runs: readonly number[]) {
  const run_ids = runs.slice(0, MOST_RUNS);
  return { kind: "picture" as const, title, csv, run_ids, address: pagePath() + window.location.search };
}
