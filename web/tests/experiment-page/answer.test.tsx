import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Answer } from "@/shared/api/types";
import { aGroup, anAnswer, aSpread, STEP } from "../testing/answers";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, Service } from "../testing/service";

function serve(answer: Answer, runs = 2): Service {
  return new Service({
    "GET /experiments/3": () => anExperiment({ runs, state: "done", counts: { done: runs } }),
    "GET /experiments/3/runs": () => ({ items: [aRun({ id: 10 })], next: null }),
    "GET /experiments/3/curves": () => ({ name: "loss", curves: [] }),
    "GET /experiments/3/answer": () => answer,
  });
}

const BARS = anAnswer({
  picture: "bars",
  sentence: "A step takes from 10 ms with torus to 12 ms with ring.",
  figure: STEP,
  target: 0.9,
  baseline: 0,
  groups: [
    aGroup({ label: "ring", figure: aSpread(0.012), parts: { compute_s: 0.008, communication_s: 0.004 } }),
    aGroup({
      label: "torus",
      figure: aSpread(0.01),
      parts: { compute_s: 0.008, communication_s: 0.002 },
      speedup: 1.2,
    }),
    aGroup({
      label: "tree",
      figure: aSpread(0.011),
      refusals: ["run 12 never reached an accuracy of 90.00 %"],
    }),
  ],
});

const LINES = anAnswer({
  picture: "lines",
  sentence: "The best held-out accuracy is highest at batch 64: 98.00 % ± 0.10.",
  over: "seed",
  x: { path: "batch", name: "batch", scale: "log2", values: [64, 128, 256] },
  diverged: 1,
  groups: [
    aGroup({ x: 64, runs: [10, 11], done: 2, figure: aSpread(0.98, 0.001, 2) }),
    aGroup({ x: 128, runs: [12, 13], done: 1, diverged: 1, figure: aSpread(0.97) }),
    aGroup({ x: 256, runs: [14, 15], done: 2, figure: aSpread(0.96, 0.002, 2) }),
  ],
});

test("the first tab is the answer, and the address holds the choice of the curves", async () => {
  const service = serve(BARS);
  openPage("/experiments/3");
  expect(await screen.findByText(BARS.sentence)).toBeVisible();
  expect(screen.queryByRole("slider")).toBeNull();
  expect(service.requests).not.toContain("GET /experiments/3/points?name=heldout_accuracy");
  await userEvent.click(screen.getByRole("radio", { name: "Curves" }));
  expect(await screen.findByRole("slider")).toBeVisible();
  expect(window.location.search).toBe("?tab=curves");
});

test("an experiment of one run has its curves below its answer", async () => {
  serve(anAnswer(), 1);
  openPage("/experiments/3");
  expect(await screen.findByText("The best held-out accuracy of run 10 is 90.00 %.")).toBeVisible();
  expect(await screen.findByRole("slider")).toBeVisible();
  expect(screen.queryByRole("radio", { name: "Answer" })).toBeNull();
});

test("a search over distributions has no answer tab: hardly two runs share a value", async () => {
  const service = serve(anAnswer(), 2);
  const found = anExperiment({ runs: 2, state: "done", counts: { done: 2 } });
  const space = { "schedule.rate": { kind: "log_uniform", low: 0.001, high: 1 } };
  const spec = { ...found.spec, search: { space } } as unknown as typeof found.spec;
  service.answers["GET /experiments/3"] = () => ({ ...found, spec });
  openPage("/experiments/3");
  expect(await screen.findByRole("slider")).toBeVisible();
  expect(screen.queryByRole("radio", { name: "Answer" })).toBeNull();
  expect(service.requests.filter((request) => request.includes("/answer"))).toEqual([]);
});

test("categories are bars with the best first, the speed-up over the baseline, and why there is none", async () => {
  serve(BARS);
  openPage("/experiments/3");
  const bars = await screen.findByRole("list", { name: "time of a step" });
  const rows = within(bars).getAllByRole("listitem");
  expect(rows.map((row) => row.textContent)).toEqual([
    expect.stringMatching(/^torus.*10 ms.*1\.2× as fast/),
    expect.stringMatching(/^tree.*11 ms/),
    expect.stringMatching(/^ring.*12 ms.*baseline/),
  ]);
  expect(screen.getByRole("list", { name: "Notes" })).toHaveTextContent(
    "No speed-up: run 12 never reached an accuracy of 90.00 %.",
  );
  expect(screen.getByRole("list", { name: "Parts of a step" })).toHaveTextContent("Communication");
});

test("a numeric axis is a line with error bars, a cross for diverged runs, and a table with links", async () => {
  serve(LINES);
  openPage("/experiments/3");
  const picture = await screen.findByRole("img", { name: /best held-out accuracy against batch/ });
  expect(within(picture).getByText("128")).toBeInTheDocument();
  expect(within(picture).getByText("batch (log scale)")).toBeInTheDocument();
  expect(within(picture).getAllByText("1 diverged")).toHaveLength(1);
  expect(screen.getByRole("list", { name: "Notes" })).toHaveTextContent("1 run diverged");
  await userEvent.click(screen.getByText("Values and runs"));
  const row = within(screen.getByRole("region", { name: "Values" }))
    .getByText("batch 64")
    .closest("tr");
  expect(row).toHaveTextContent("98.00% ± 0.10");
  expect(within(row as HTMLElement).getByRole("link", { name: "run 11" })).toHaveAttribute(
    "href",
    "/runs/11",
  );
});

test("two numeric axes are a heat map that marks the pair of a diverged run", async () => {
  const axis = (name: string, values: number[]) => ({ path: name, name, scale: "log2" as const, values });
  serve(
    anAnswer({
      picture: "heat_map",
      x: axis("batch", [64, 128]),
      y: axis("rate", [0.1, 0.4]),
      groups: [
        aGroup({ x: 64, y: 0.1, figure: aSpread(0.91) }),
        aGroup({ x: 128, y: 0.1, figure: aSpread(0.93) }),
        aGroup({ x: 64, y: 0.4, figure: null, done: 0, diverged: 1 }),
        aGroup({ x: 128, y: 0.4, figure: aSpread(0.89), is_preliminary: true }),
      ],
    }),
  );
  openPage("/experiments/3");
  const map = await screen.findByRole("img", { name: /best held-out accuracy by batch and rate/ });
  expect(map).toHaveTextContent("rate0.4diverged89.00%0.191.00%93.00%64128batch");
  expect(within(map).getByTitle(/batch 128, rate 0.1/)).toHaveTextContent("93.00%");
});

test("a choice of the reader is asked of the service and stands in the address", async () => {
  const service = serve(BARS);
  openPage("/experiments/3");
  await userEvent.selectOptions(await screen.findByLabelText("Show"), "best(heldout_accuracy)");
  const field = screen.getByLabelText("Target accuracy, %");
  await userEvent.clear(field);
  await userEvent.type(field, "95.5{Enter}");
  await userEvent.selectOptions(screen.getByLabelText("Baseline"), "torus");
  await waitFor(() => {
    expect(service.requests).toContain(
      "GET /experiments/3/answer?figure=best(heldout_accuracy)&target=0.955&baseline=1",
    );
  });
  expect(window.location.search).toBe("?figure=best%28heldout_accuracy%29&target=95.5&baseline=1");
});

test("a choice that the service refuses shows why, and can be reset", async () => {
  const service = serve(BARS);
  service.refused["GET /experiments/3/answer"] = { status: 422, detail: "no run has the figure 'x'" };
  openPage("/experiments/3?figure=x");
  expect(await screen.findByRole("alert")).toHaveTextContent("no run has the figure 'x'");
  await userEvent.click(screen.getByRole("button", { name: "Reset the choices" }));
  expect(window.location.search).toBe("");
});

test("every mean is in the picture: one far out is an arrow at the edge with its value", async () => {
  const means = [0.41, 0.42, 0.43, 0.44, 0.45, 30];
  const values = means.map((_, at) => 2 ** at);
  const quux = { name: "quux", title: "last quux", unit: "number" as const, higher_is_better: null };
  serve(
    anAnswer({
      picture: "lines",
      figure: quux,
      figures: [quux],
      x: { path: "batch", name: "batch", scale: "log2", values },
      groups: means.map((mean, at) => aGroup({ x: values[at] ?? 0, figure: aSpread(mean), accuracy: null })),
    }),
  );
  openPage("/experiments/3");
  const picture = await screen.findByRole("img", { name: /last quux against batch/ });
  expect(within(picture).getByText("30.00")).toBeInTheDocument();
  const line = picture.querySelector("polyline")?.getAttribute("points") ?? "";
  expect(line.split(" ")).toHaveLength(means.length);
  expect(screen.getByText(/Arrows at the edge are means far out/)).toBeVisible();
});

test("without a figure the sentence says why, the figures can be chosen, and archived runs are counted", async () => {
  const service = serve(
    anAnswer({
      sentence: "No run has reported a metric.",
      figure: null,
      figures: [STEP],
      archived: 3,
      left_out: [{ run: 12, reason: "the disk was full" }],
      groups: [],
    }),
  );
  openPage("/experiments/3");
  expect(await screen.findByText("No run has reported a metric.")).toBeVisible();
  expect(screen.getByRole("list", { name: "Notes" })).toHaveTextContent("3 archived runs are not counted.");
  expect(screen.getByRole("list", { name: "Notes" })).toHaveTextContent(
    "Run 12 is left out: the disk was full",
  );
  await userEvent.selectOptions(screen.getByLabelText("Show"), "time of a step");
  await waitFor(() => {
    expect(service.requests).toContain("GET /experiments/3/answer?figure=step_s");
  });
});
