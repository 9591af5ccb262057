import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { recordDate, serviceNow } from "@/shared/api/clock";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

afterEach(() => {
  localStorage.clear();
});

test.each([
  ["ada", "ada"],
  ["ädä", null], // HTTP does not allow it
  ["", null],
])("a change by %j names its user as %j, and a question names none", async (name, sent) => {
  localStorage.setItem("user", name);
  const service = new Service({
    "GET /runs/7": () => aRunDetail({ state: "failed" }),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
    "POST /runs/7/retry": () => ({ queued: [7], waiting: [], unchanged: [] }),
  });
  openPage("/runs/7");
  await userEvent.click(await screen.findByRole("button", { name: "Retry" }));
  await expect.poll(() => service.users.get("POST /runs/7/retry")).toBe(sent);
  expect(service.users.get("GET /runs/7")).toBeNull();
});

const MINUTE = 60_000;

function resetAfterTest() {
  onTestFinished(() => {
    recordDate(new Date().toUTCString());
  });
}

test.each([
  ["behind", 10],
  ["ahead", -10],
])("an age is right in a browser whose clock is ten minutes %s", async (_, minutes) => {
  resetAfterTest();
  const at = Date.now() + minutes * MINUTE; // by the service
  const experiment = anExperiment({ created_at: new Date(at - 4 * MINUTE).toISOString() });
  const service = new Service({
    "GET /experiments": () => ({ items: [experiment], next: null }),
    "GET /clusters": () => [],
  });
  service.date = new Date(at);
  openPage("/");
  expect(await screen.findByText("4 min ago")).toBeVisible();
});

test("a clock that differs by the part of a second that a Date leaves out does not move", () => {
  resetAfterTest();
  for (const off of [0, 1, -1]) {
    recordDate(new Date(Date.now() + off * 1000).toUTCString());
    expect(Math.abs(serviceNow() - Date.now())).toBeLessThanOrEqual(1);
  }
  recordDate("no date");
  recordDate(null);
  expect(Math.abs(serviceNow() - Date.now())).toBeLessThanOrEqual(1);
});
