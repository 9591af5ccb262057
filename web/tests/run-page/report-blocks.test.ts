import { afterEach, expect, test } from "vitest";
import { blocksOfRun } from "@/features/run-page/charts/reportBlocks";
import { curve, seriesOf } from "../testing/curves";
import { aProgram, aRunDetail } from "../testing/service";

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
