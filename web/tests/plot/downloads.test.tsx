import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { csvOfChart } from "@/shared/plot/view";
import { chartPicture } from "@/shared/plot/chartPicture";
import { bucketed, bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, aRunDetail, Service } from "../testing/service";

let saved: { name: string; content: Promise<string> }[] = [];
let blob = new Blob();

beforeEach(() => {
  saved = [];
  URL.createObjectURL = (content) => {
    blob = content as Blob;
    return "blob:file";
  };
  URL.revokeObjectURL = () => undefined;
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push({ name: this.download, content: textOf(blob) });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** jsdom's files have no text(). */
function textOf(content: Blob): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => {
      resolve(typeof reader.result === "string" ? reader.result : "");
    };
    reader.readAsText(content);
  });
}

async function download(region: HTMLElement, item: string): Promise<string> {
  await userEvent.click(within(region).getByRole("button", { name: "Download" }));
  await userEvent.click(within(region).getByRole("menuitem", { name: item }));
  await waitFor(() => {
    expect(saved).not.toHaveLength(0);
  });
  const file = saved.pop();
  return `${file?.name ?? ""}\n${(await file?.content) ?? ""}`;
}

test("the overlay of an experiment is saved with the data of the visible lines, and as an SVG", async () => {
  const runs = [10, 11].map((id) => aRun({ id, latest: { loss: 1, heldout_accuracy: 0.5 } }));
  new Service({
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": () => ({
      name: "loss",
      curves: [10, 11].map((id) => ({
        run_id: id,
        devices: 1,
        restarts: [],
        ...bucketed({ steps: [1, 2], values: [id, id / 2] }),
      })),
    }),
  });
  openPage("/experiments/3?tab=curves&series=loss&hidden=10");
  const panel = await screen.findByRole("region", { name: "Curves" });
  await within(panel).findByRole("slider");
  await waitFor(() => {
    expect(within(panel).getByRole("slider")).toHaveAttribute("aria-valuemax", "2");
  });
  expect(await download(panel, "Data as CSV")).toBe(
    "training-loss-by-step-a-grid.csv\nrun,step,loss\n11,1,11\n11,2,5.5\n",
  );
  const svg = await download(panel, "Picture as SVG");
  expect(svg).toMatch(/^training-loss-by-step-a-grid\.svg\n<svg/);
  expect(svg).toContain("Training loss by step, a grid");
  expect(svg.match(/<path d="M/g)?.length).toBe(1); // the visible line
});

test("each chart of a run is saved with its data", async () => {
  new Service({
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => bucketedSeries({ loss: { steps: [1, 2, 3], values: [3, 2, 1] } }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7?smooth=off");
  const chart = await screen.findByRole("region", { name: "Loss" });
  expect(await download(chart, "Data as CSV")).toBe(
    "loss-run-7.csv\nseries,step,value\nloss,1,3\nloss,2,2\nloss,3,1\n",
  );
});

const VIEW = {
  lines: [
    { key: "1", label: "Run 1", color: "#111111" },
    { key: "2", label: "Run 2", color: "#222222", dash: [2, 3] },
  ],
  aligned: {
    x: [0, 5, 10],
    ys: [
      [0, undefined, 1],
      [1, null, 0],
    ],
  },
  tick: String,
};

test("the picture of a chart has a path for each line, gaps, and the signs of restarts and of values that are not finite", () => {
  const view = {
    ...VIEW,
    restarts: [[10], []],
    notFinite: [[], [{ step: 5, kind: "nan" as const }]],
    marks: [5],
  };
  const svg = chartPicture(view, { x: [0, 10], y: [0, 1] }, "step");
  const paths = [...svg.querySelectorAll("path")].map((path) => path.getAttribute("d") ?? "");
  expect(paths[0]).toBe("M64.0 376.0L880.0 16.0"); // a step without a value is no gap
  expect(paths[1]?.match(/M/g)).toHaveLength(2); // null is one
  expect(paths[2]).toMatch(/^M468 /); // the cross
  expect(svg.querySelector("circle")?.getAttribute("cx")).toBe("880");
  expect(svg.querySelectorAll("[stroke-dasharray='4 4']")).toHaveLength(1);
  const hidden = chartPicture({ ...view, hidden: new Set(["1"]) }, { x: [0, 10], y: [0, 1] }, "step");
  expect(hidden.querySelector("circle")).toBeNull();
});

test("data have a line for each point of the visible lines; a gap is an empty value", () => {
  expect(csvOfChart({ ...VIEW, hidden: new Set(["1"]) }, ["run", "step", "loss"])).toEqual([
    ["run", "step", "loss"],
    ["2", 0, 1],
    ["2", 5, null],
    ["2", 10, 0],
  ]);
});
