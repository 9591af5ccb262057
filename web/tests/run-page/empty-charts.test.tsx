import { act, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { aRunDetail, Service } from "../testing/service";

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
