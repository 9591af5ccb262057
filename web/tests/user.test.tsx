import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import { openPage } from "./testing/openPage";
import { anExperiment, aRunDetail, Service } from "./testing/service";

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
