import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import { blocksOfRun } from "@/features/run-page/charts/reportBlocks";
import type { Column } from "@/shared/api/types";
import { tickTexts } from "@/shared/format/ticks";
import { kindOfValues, seriesKind } from "@/shared/series/catalog";
import { bucketedSeries, curve, seriesOf } from "../testing/curves";
import { chartOf } from "../testing/fakeChart";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRunDetail, Service } from "../testing/service";

const COLUMN = { steps: [1, 2, 3], values: [3, 2, 1] };

/** A run of 51 series and more: the service answers with the first ones, others by name. */
function manySeries(count: number) {
  const own = Array.from({ length: count - 1 }, (_, at) => `layer_${String(at).padStart(3, "0")}`);
  const series = [...own, "loss"];
  return new Service({
    "GET /runs/7": () => aRunDetail({ state: "done", series }),
    "GET /runs/7/curves": (url) => {
      const asked = url.searchParams.getAll("name");
      expect(asked.length).toBeLessThanOrEqual(50);
      const names = asked.length ? asked : ["loss", ...own].slice(0, 50);
      const asks = (name: string, other: number) => Number(url.searchParams.get(name) ?? other);
      const steps = COLUMN.steps.filter((step) => step >= asks("from", 0) && step <= asks("to", Infinity));
      const values = steps.map((step) => 4 - step);
      return bucketedSeries(
        Object.fromEntries(steps.length ? names.map((name) => [name, { steps, values }]) : []),
      );
    },
    "GET /experiments/3": () => anExperiment(),
  });
}

test("the 51st series of a run has a chart as well, and none is left out", async () => {
  manySeries(61);
  openPage("/runs/7");
  const curves = await screen.findByRole("region", { name: "Curves" });
  await waitFor(() => {
    expect(chartOf("layer_059")?.aligned.x).toEqual([1, 2, 3]);
  });
  expect(within(curves).getAllByRole("region", { name: /layer_/ })).toHaveLength(60);
});

test("series beyond the first answer are asked for in parts, and a search finds one; the address has it", async () => {
  const service = manySeries(160);
  openPage("/runs/7");
  await waitFor(() => {
    expect(chartOf("layer_158")).toBeDefined();
  });
  const asked = service.requests.filter((request) => request.includes("name=layer_"));
  expect(asked).toHaveLength(3); // 50, 50 and 10
  await userEvent.type(screen.getByRole("textbox", { name: /Find one of 163 charts/ }), "R_157");
  expect(await screen.findByRole("region", { name: "layer_157" })).toBeVisible();
  expect(screen.queryByRole("region", { name: "layer_099" })).toBeNull();
  expect(window.location.search).toBe("?find=R_157");
});

test.each(["1&to=2", "5&to=9"])(
  "a chart beyond the 50th that is zoomed to %s has the newest value of the whole run at its head",
  async (range) => {
    manySeries(61);
    openPage(`/runs/7?from=${range}&find=layer_05`);
    const chart = await screen.findByRole("region", { name: "layer_059" });
    expect(await within(chart).findByText("1.000")).toBeVisible();
  },
);

test("a run of few series has no search", async () => {
  manySeries(5);
  openPage("/runs/7");
  expect(await screen.findByRole("region", { name: "Loss" })).toBeVisible();
  expect(screen.queryByRole("textbox", { name: /^Find one/ })).toBeNull();
});

test("a search that the address has is shown over few charts as well, and can be removed", async () => {
  manySeries(5);
  openPage("/runs/7?find=layer_001");
  expect(await screen.findByRole("region", { name: "layer_001" })).toBeVisible();
  expect(screen.queryByRole("region", { name: "Loss" })).toBeNull();
  await userEvent.clear(screen.getByRole("textbox", { name: /^Find one of/ }));
  expect(await screen.findByRole("region", { name: "Loss" })).toBeVisible();
});

/** A program's run that reports these values. */
function programOf(series: Record<string, Column>) {
  return new Service({
    "GET /runs/7": () =>
      aRunDetail({
        state: "done",
        spec: aProgram(),
        step: 1990,
        series: Object.keys(series),
        latest: Object.fromEntries(
          Object.entries(series).map(([name, { values }]) => [name, values.at(-1) ?? 0]),
        ),
      }),
    "GET /runs/7/curves": () => bucketedSeries(series),
    "GET /experiments/3": () => anExperiment(),
  });
}

test("series are in sections by their prefixes, with the names of the user; a section folds", async () => {
  programOf({ "val/acc": COLUMN, plain: COLUMN, "train/loss": COLUMN, "train/loss/rank-1": COLUMN });
  openPage("/runs/7");
  const train = await screen.findByRole("region", { name: "train/" });
  expect(within(train).getByRole("heading", { name: "train/loss" })).toBeVisible();
  expect(screen.getByRole("heading", { name: "val/acc" })).toBeVisible();
  const heads = screen.getAllByRole("heading", { level: 2 }).map((head) => head.textContent);
  expect(heads.indexOf("plain")).toBeLessThan(heads.indexOf("val/acc"));
  await userEvent.click(within(train).getByRole("button", { name: /train\// }));
  expect(within(train).queryByRole("heading", { name: "train/loss" })).toBeNull();
  expect(window.location.search).toBe("?folded=train%2F");
  expect(screen.getByRole("heading", { name: "val/acc" })).toBeVisible();
});

test("metrics called as what every object has are curves like others", async () => {
  const names = ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf"];
  programOf(Object.fromEntries(["loss", ...names].map((name) => [name, COLUMN])));
  openPage("/runs/7");
  expect(await screen.findByRole("region", { name: "Loss" })).toBeVisible();
  for (const name of names) {
    expect(screen.getByRole("region", { name })).toBeVisible();
    expect(chartOf(name)?.aligned.x).toEqual([1, 2, 3]);
  }
});

test.each(["epoch", "trained_s", "slowest_rank", "checkpoint_bytes", "update_s"])(
  "a program that reports %s alone has a chart of it: only the engine means something else by the name",
  async (name) => {
    programOf({ [name]: COLUMN });
    openPage("/runs/7");
    expect(await screen.findByRole("slider", { name: /, crosshair$/ })).toBeVisible();
    expect(chartOf(name)?.aligned.ys[0]).toEqual([3, 2, 1]);
    expect(screen.queryByText("The run reported no values.")).toBeNull();
  },
);

test("accuracies of 90 to 95 are plain numbers that rise, and shares are percent", async () => {
  programOf({ heldout_accuracy: { steps: [1, 2], values: [90, 95] } });
  openPage("/runs/7");
  const chart = await screen.findByRole("region", { name: "Held-out accuracy" });
  expect(within(chart).getByText("95.00")).toBeVisible();
  const view = chartOf("heldout_accuracy");
  expect(view?.ceiling).toBeUndefined();
  expect(view && tickTexts([90, 92, 94], view.tick)).toEqual(["90", "92", "94"]);
  const accuracy = seriesKind("heldout_accuracy");
  expect(kindOfValues(accuracy, [[0.5, 0.95]])).toBe(accuracy);
  expect(kindOfValues(accuracy, [[0.5, 95]]).format(0.5)).toBe("0.5000");
  expect([accuracy.format(0.95), accuracy.format(95)]).toEqual(["95.00%", "95.00"]);
});

test("a chart's head has the newest value as it was reported, and beside it the smoothed one; one switch for all", async () => {
  const steps = Array.from({ length: 400 }, (_, at) => at + 1);
  programOf({ noise: { steps, values: steps.map((step) => (step % 2 ? 1 : 3)) }, other: COLUMN });
  openPage("/runs/7");
  const chart = await screen.findByRole("region", { name: "noise" });
  expect(within(chart).getByText("3.000")).toBeVisible();
  expect(within(chart).getByText(/^smoothed [12]\.\d+$/)).toBeVisible();
  await userEvent.click(screen.getByRole("switch", { name: "smooth" }));
  expect(within(chart).getByText("3.000")).toBeVisible();
  expect(screen.queryByText(/^smoothed/)).toBeNull();
});

test("a chart without values is a sentence, not an empty picture", async () => {
  const loss = { steps: [1, 2, 3], values: [2.0, null, 1.5] };
  new Service({
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => bucketedSeries({ loss, heldout_accuracy: { steps: [], values: [] } }),
  });
  openPage("/runs/7");
  expect(await screen.findByText("No held-out accuracy reported yet.")).toBeVisible();
  expect(screen.getByText("No learning rate reported yet.")).toBeVisible();
  expect(screen.getByRole("slider", { name: "Loss, crosshair" })).toBeVisible();
  expect(screen.queryByRole("slider", { name: /accuracy/ })).toBeNull();
});

test.each([
  ["done", /The run reported no values/],
  ["running", /has not reported any values/],
] as const)(
  "a %s run has no sentence about missing values while its curves load",
  async (state, sentence) => {
    let arrive: () => void = () => undefined;
    new Service({
      "GET /runs/7": () => aRunDetail({ state, step: 10 }),
      "GET /runs/7/curves": () =>
        new Promise((resolve) => {
          arrive = () => {
            resolve({ series: {} });
          };
        }),
    });
    openPage("/runs/7");
    expect(await screen.findByRole("heading", { name: /Run 7/ })).toBeVisible();
    expect((await screen.findAllByText(/^Loading/)).length).toBeGreaterThan(0);
    expect(screen.queryByText(/reported (?:no|any) values/)).toBeNull();
    act(() => {
      arrive();
    });
    expect(await screen.findByText(sentence)).toBeVisible();
  },
);

afterEach(() => {
  document.body.innerHTML = "";
});

test("a report has the drawn charts with their own series alone, and says how many are not drawn", () => {
  const place = (name: string, inside: string) => `<div data-series='["${name}"]'>${inside}</div>`;
  const drawn = '<div role="slider" aria-label="Loss, crosshair"><canvas></canvas></div>';
  document.body.innerHTML = `<main id="main"><section aria-label="Curves">${place("loss", drawn)}${place("val/loss", "")}</section></main>`;
  const names = ["loss", "val/loss", "acc"];
  const series = seriesOf({ loss: curve(2, 1), "val/loss": curve(5), acc: curve(7) });
  const blocks = blocksOfRun(aRunDetail({ series: names, spec: aProgram() }), { names, series });
  expect(blocks.map(({ kind }) => kind)).toEqual(["runs", "picture", "text"]);
  expect(blocks[1]).toMatchObject({ title: "Loss of run 7" });
  const { csv } = blocks[1] as { csv: string };
  expect(csv.trim().split(/\r?\n/)).toEqual(["series,step,mean", "loss,1,2", "loss,2,1"]);
  expect(blocks[2]).toMatchObject({
    markdown: "2 charts of run 7 are not here: the page had not drawn them.",
  });
});
