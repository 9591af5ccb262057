import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

function aService() {
  return new Service({
    "GET /experiments": () => ({ items: [anExperiment()], next: null }),
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/runs": () => ({ items: [], next: null }),
    "GET /experiments/3/curves": () => ({ name: "heldout_accuracy", curves: [] }),
    "GET /experiments/3/checkpoints": () => [],
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => bucketedSeries({ loss: { steps: [1, 2], values: [2, 1] } }),
    "GET /runs/7/log": () => ({ text: "world 8\n", offset: 0, next: 8, size: 8 }),
    "GET /runs/7/ranks": () => null,
    "GET /clusters": () => [],
  });
}

test.each(["/", "/experiments/3", "/runs/7", "/clusters", "/collectives"])(
  "%s shows a sentence when the service does not answer",
  async (path) => {
    aService().down = true;
    openPage(path);
    expect(await screen.findByText("The service does not answer.")).toBeVisible();
    expect(await screen.findByText("No data yet")).toBeVisible();
  },
);

test("the banner shows the service's own sentence about its database, until the database answers", async () => {
  const service = aService();
  service.refused["GET /runs/7"] = { status: 503, detail: "connection refused", errors: [] };
  openPage("/runs/7");
  expect(await screen.findByText("The service reports an error: connection refused.")).toBeVisible();
  expect(await screen.findByText("No data yet")).toBeVisible();
  delete service.refused["GET /runs/7"];
  expect(await screen.findByRole("heading", { name: "Run 7" })).toBeVisible();
  await waitFor(() => {
    expect(screen.queryByText(/reports an error/)).toBeNull();
  });
});

test("a page without a session offers the sign-in, not the service's message to programs", async () => {
  const service = aService();
  const detail = "the token is missing or wrong: send Authorization: Bearer TOKEN";
  for (const path of ["GET /runs/7", "GET /runs/7/log"]) service.refused[path] = { status: 401, detail };
  openPage("/runs/7");
  expect(await screen.findByText("You are signed out, or the session has ended.")).toBeVisible();
  expect(await screen.findByText("Sign in to see this page")).toBeVisible();
  expect(screen.getAllByRole("button", { name: "Sign in" }).length).toBe(2); // of the banner and of the page
  expect(screen.queryByText(/Bearer/)).toBeNull();
});

test("a run that does not exist shows the service's sentence and a link to the experiments", async () => {
  aService().refused["GET /runs/99"] = { status: 404, detail: "there is no run 99", errors: [] };
  openPage("/runs/99");
  expect(await screen.findByText("There is no run 99")).toBeVisible();
  expect(screen.getByRole("link", { name: "All experiments" })).toBeVisible();
});

test("a refused value is named with the reason", async () => {
  aService().refused["GET /collectives/price"] = {
    status: 422,
    detail: "the request is not valid",
    errors: [{ path: "hosts", message: "at most 4096" }],
  };
  openPage("/collectives?hosts=9999");
  expect(await screen.findByText("The request is not valid: hosts: at most 4096")).toBeVisible();
});

test.each([
  [409, "out.log cannot be read: not a regular file"],
  [503, "a file cannot be read: stale file handle"],
])("a log and rank times that the service cannot read (%i) show the reason", async (status, detail) => {
  const service = aService();
  for (const part of ["log", "ranks"])
    service.refused[`GET /runs/7/${part}`] = { status, detail, errors: [] };
  service.answers["GET /runs/7/curves"] = () =>
    bucketedSeries({ compute_s: { steps: [1, 2], values: [0.1, 0.1] } });
  openPage("/runs/7");
  expect(await screen.findByText(`The log cannot be shown: ${detail}.`)).toBeVisible();
  expect(await screen.findByText(`The times of the ranks cannot be shown: ${detail}.`)).toBeVisible();
});

test("the log remains when a later part cannot be read", async () => {
  const service = aService();
  openPage("/runs/7");
  const log = await screen.findByRole("region", { name: "Log" });
  await waitFor(() => {
    expect(log).toHaveTextContent("world 8");
  });
  service.refused["GET /runs/7/log"] = { status: 409, detail: "out.log is a link", errors: [] };
  expect(await screen.findByText("New lines cannot be shown: out.log is a link.")).toBeVisible();
  expect(log).toHaveTextContent("world 8");
});

test("curves that cannot be read are not shown as absent values", async () => {
  const service = aService();
  service.refused["GET /runs/7/curves"] = { status: 503, detail: "disk I/O error", errors: [] };
  openPage("/runs/7");
  expect(await screen.findByText("The curves cannot be shown: disk I/O error.")).toBeVisible();
  expect(screen.queryByText(/has not reported any values/)).toBeNull();
});

test("a run that ended without values is not said to start its curves later", async () => {
  const service = aService();
  service.answers["GET /runs/7"] = () => aRunDetail({ state: "done" });
  service.answers["GET /runs/7/curves"] = () => bucketedSeries({});
  openPage("/runs/7");
  expect(await screen.findByText("The run reported no values.")).toBeVisible();
});

test("a scheduler that does not work has a banner with the reason, and no other error", async () => {
  const service = new Service({ "GET /clusters": () => [] });
  service.refused["GET /ready"] = {
    ...{ status: 503, ready: false, database: "ok", scheduler_seen_at: null },
    scheduler: "the tick poll last succeeded 130 s ago",
  } as never;
  openPage("/clusters");
  expect(
    await screen.findByText("The scheduler is late: the tick poll last succeeded 130 s ago.", {
      exact: false,
    }),
  ).toBeVisible();
  expect(screen.queryByText("The service reports an error", { exact: false })).toBeNull();
});
