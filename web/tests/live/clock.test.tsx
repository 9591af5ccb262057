import { screen } from "@testing-library/react";
import { expect, onTestFinished, test } from "vitest";
import { recordDate, serviceNow } from "@/shared/api/clock";
import { openPage } from "../testing/openPage";
import { anExperiment, Service } from "../testing/service";

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
