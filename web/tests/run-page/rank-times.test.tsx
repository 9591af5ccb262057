import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { RankTimes } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

test("the keyboard reads the times of each rank, and begins with the slowest one", async () => {
  const times: RankTimes = {
    ...{ attempt: 1, first_step: 100, last_step: 200 },
    ranks: [0.02, 0.05, 0.03].map((compute_s, rank) => ({
      rank,
      seconds: { compute_s, idle_s: 0.05 - compute_s },
    })),
  };
  new Service({
    "GET /runs/7": () => aRunDetail({ world: 3 }),
    "GET /runs/7/curves": () => bucketedSeries({ compute_s: { steps: [1, 2], values: [0.02, 0.02] } }),
    "GET /runs/7/ranks": () => times,
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  const bars = await screen.findByRole("slider", { name: /^Time of a step on each of 3 ranks/ });
  expect(bars).toHaveAttribute("aria-valuetext", "rank 1: compute 50 ms, idle 0 ms");
  bars.focus();
  const reads = async (keys: string, text: string) => {
    await userEvent.keyboard(keys);
    expect(bars).toHaveAttribute("aria-valuetext", text);
  };
  await reads("{ArrowRight}", "rank 2: compute 30 ms, idle 20 ms");
  await reads("{ArrowRight}", "rank 2: compute 30 ms, idle 20 ms"); // the last one
  expect(screen.getByText("compute 30 ms, idle 20 ms")).toBeVisible();
  await reads("{Home}", "rank 0: compute 20 ms, idle 30 ms");
  expect(bars).toHaveAttribute("aria-valuenow", "0");
  await reads("{ArrowRight}", "rank 1: compute 50 ms, idle 0 ms");
  await reads("{End}{ArrowLeft}{ArrowLeft}", "rank 0: compute 20 ms, idle 30 ms");
  await reads("{Escape}", "rank 1: compute 50 ms, idle 0 ms");
  await userEvent.keyboard("{Home}");
  fireEvent.blur(bars);
  expect(bars).toHaveAttribute("aria-valuetext", "rank 1: compute 50 ms, idle 0 ms");
});
