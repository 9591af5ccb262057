import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { ScheduleDetail, ScheduleView } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { Service } from "../testing/service";

const AT = "2026-01-05T12:00:00Z";

function aSchedule(change: Partial<ScheduleView> = {}): ScheduleView {
  return {
    id: 4,
    name: "nightly",
    owner: "ada",
    experiment_name: "regression",
    cron: "30 2 * * *",
    time_zone: "Europe/Berlin",
    path: null,
    missed: "run_once",
    overlap: "skip",
    next_at: new Date(Date.now() + 7_200_000).toISOString(),
    paused_at: null,
    ...change,
  };
}

function aService(first: ScheduleView[], starts: ScheduleDetail["starts"] = []) {
  let schedules = first;
  const service: Service = new Service({
    "GET /schedules": () => ({ schedules }),
    "GET /schedules/4": () => ({ ...schedules[0], experiment: {}, starts }),
    "PATCH /schedules/4": () => {
      const isPaused = service.bodies.at(-1)?.includes("true") ?? false;
      schedules = schedules.map((one) => ({ ...one, paused_at: isPaused ? AT : null }));
      return schedules[0];
    },
    "DELETE /schedules/4": () => {
      schedules = [];
      return {};
    },
    "GET /notifications/targets": () => ({ targets: [] }),
    "GET /notifications/deliveries": () => ({ deliveries: [] }),
  });
  return service;
}

test("a schedule shows when it starts and what it does with missed starts", async () => {
  aService([aSchedule(), aSchedule({ id: 5, name: "arrivals", cron: null, next_at: null, path: "/data/x" })]);
  openPage("/automation");
  const panel = within(await screen.findByRole("region", { name: "Schedules" }));
  const [nightly, arrivals] = panel.getAllByRole("listitem");
  expect(nightly).toHaveTextContent(
    /nightly.*30 2 \* \* \* \(Europe\/Berlin\).*next in 2 h.*one start for all/,
  );
  expect(arrivals).toHaveTextContent(/file \/data\/x.*when the file appears or changes/);
});

test("each start leads to its experiment or gives the reason why there is none", async () => {
  aService(
    [aSchedule()],
    [
      {
        key: "2",
        at: AT,
        status: "skipped",
        experiment_id: null,
        message: "the last experiment had not ended",
      },
      { key: "1", at: AT, status: "created", experiment_id: 17, message: null },
    ],
  );
  openPage("/automation");
  await userEvent.click(await screen.findByRole("button", { name: "Starts of nightly" }));
  const list = within(await screen.findByRole("list", { name: "Starts of nightly" }));
  expect(list.getByRole("link", { name: "experiment 17" })).toHaveAttribute("href", "/experiments/17");
  expect(list.getByText("the last experiment had not ended")).toBeVisible();
});

test("a schedule is paused, resumed and deleted after a question", async () => {
  const service = aService([aSchedule()]);
  openPage("/automation");
  await userEvent.click(await screen.findByRole("button", { name: "Pause nightly" }));
  await userEvent.click(await screen.findByRole("button", { name: "Resume nightly" }));
  await userEvent.click(await screen.findByRole("button", { name: "Delete nightly…" }));
  const dialog = within(screen.getByRole("dialog", { name: /Delete the schedule/ }));
  await userEvent.click(dialog.getByRole("button", { name: "Delete" }));
  expect(await screen.findByText(/bigbatch schedule add/)).toBeVisible();
  expect(service.bodies).toEqual([
    'PATCH /schedules/4 {"paused":true}',
    'PATCH /schedules/4 {"paused":false}',
  ]);
});
