import { act, screen } from "@testing-library/react";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { loadPage } from "@/app/pages";
import { bucketedSeries } from "../testing/curves";
import { aChange, lastSource, sources, stubEventSource } from "../testing/fakeEventSource";
import { openPage } from "../testing/openPage";
import { aRunDetail, Service } from "../testing/service";

let steps = [1, 2, 3];
let logText = "step 1\n";

function openRun(): Service {
  const service = new Service({
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => bucketedSeries({ loss: { steps, values: steps.map((step) => 1 / step) } }),
    "GET /runs/7/ranks": () => null,
    "GET /runs/7/log": (url) => {
      const offset = Math.max(0, Number(url.searchParams.get("offset")));
      return { text: logText.slice(offset), offset, next: logText.length, size: logText.length };
    },
    "GET /experiments/3": () => null,
    "GET /experiments/3/checkpoints": () => [],
    "GET /clusters": () => [],
    "GET /ready": () => ({ ready: true, database: "ok", scheduler: "ok", scheduler_seen_at: null }),
  });
  openPage("/runs/7");
  return service;
}

/** Let the time go on, and all requests end. */
async function pass(milliseconds: number): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
}

function count(service: Service, path: string): number {
  return service.requests.filter((request) => request.startsWith(`GET ${path}`)).length;
}

function counts(service: Service): number[] {
  return ["/runs/7/curves", "/runs/7/log", "/runs/7/ranks"].map((path) => count(service, path));
}

function setHidden(hidden: boolean): void {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  act(() => {
    document.dispatchEvent(new Event("visibilitychange"));
  });
}

beforeAll(() => loadPage("/runs/7")); // a file does not load while the time stands

beforeEach(() => {
  vi.useFakeTimers();
  stubEventSource();
  [steps, logText] = [[1, 2, 3], "step 1\n"];
});

afterEach(() => {
  setHidden(false);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a page with a stream asks for nothing until the stream reports a change, and then once", async () => {
  const service = openRun();
  await pass(100);
  expect(lastSource().url).toBe("/api/v1/events?run=7");
  lastSource().send("change", { runs: [], experiments: [] }, "1");
  const before = counts(service);
  await pass(20_000);
  expect(counts(service)).toEqual(before);
  steps = [1, 2, 3, 4];
  lastSource().send("change", aChange({ step: 4 }), "2");
  await pass(500);
  expect(count(service, "/runs/7/curves")).toBe((before[0] ?? 0) + 1);
  expect(count(service, "/runs/7/log")).toBe(before[1]);
  lastSource().send("beat", {}, "3");
  await pass(20_000);
  expect(count(service, "/runs/7/curves")).toBe((before[0] ?? 0) + 1);
});

test("many changes of a moment are one request, and one that comes during a request is asked for after it", async () => {
  const service = openRun();
  await pass(100);
  const before = count(service, "/runs/7/curves");
  for (let step = 4; step < 24; step += 1) lastSource().send("change", aChange({ step }), String(step));
  await pass(1000);
  const after = count(service, "/runs/7/curves") - before;
  expect(after).toBeGreaterThanOrEqual(1);
  expect(after).toBeLessThanOrEqual(3);
});

test("a longer log is asked for, and one of the same length is not", async () => {
  const service = openRun();
  await pass(100);
  const before = count(service, "/runs/7/log");
  lastSource().send("log", { run_id: 7, size: logText.length });
  await pass(500);
  expect(count(service, "/runs/7/log")).toBe(before);
  logText = "step 1\nstep 2\n";
  lastSource().send("log", { run_id: 7, size: logText.length });
  await pass(500);
  expect(count(service, "/runs/7/log")).toBe(before + 1);
  expect(screen.getByText(/step 2/)).toBeVisible();
});

test("without a stream the page polls, and it polls no more when the stream is back", async () => {
  const service = openRun();
  await pass(100);
  lastSource().fail();
  const before = count(service, "/runs/7/curves");
  await pass(3500);
  const polled = count(service, "/runs/7/curves") - before;
  expect(polled).toBeGreaterThanOrEqual(3);
  lastSource().send("change", { runs: [], experiments: [] }, "5");
  await pass(100);
  const back = count(service, "/runs/7/curves");
  await pass(10_000);
  expect(count(service, "/runs/7/curves")).toBe(back);
});

test("a stream that the service refuses is asked for again after a while, behind the last event", async () => {
  openRun();
  await pass(100);
  lastSource().send("change", { runs: [], experiments: [] }, "9");
  lastSource().fail({ refused: true });
  const opened = sources.length;
  await pass(10_000);
  expect(sources.length).toBe(opened);
  await pass(6000);
  expect(sources.length).toBe(opened + 1);
  expect(lastSource().url).toBe("/api/v1/events?run=7&after=9");
});

test("a stream from which nothing comes for half a minute is replaced", async () => {
  const service = openRun();
  await pass(100);
  lastSource().send("change", { runs: [], experiments: [] }, "4");
  await pass(29_000);
  expect(sources.length).toBe(1);
  const before = count(service, "/runs/7/curves");
  await pass(4000);
  expect(lastSource().url).toBe("/api/v1/events?run=7&after=4");
  expect(count(service, "/runs/7/curves")).toBeGreaterThan(before);
});

test("a hidden tab has no stream, and catches up from its last event when it is shown", async () => {
  openRun();
  await pass(100);
  lastSource().send("change", { runs: [], experiments: [] }, "6");
  setHidden(true);
  expect(lastSource().readyState).toBe(2);
  await pass(60_000);
  expect(sources.length).toBe(1);
  setHidden(false);
  expect(sources.length).toBe(2);
  expect(lastSource().url).toBe("/api/v1/events?run=7&after=6");
});

test("after a reload everything that the page shows is asked for once", async () => {
  const service = openRun();
  await pass(100);
  lastSource().send("change", { runs: [], experiments: [] }, "1");
  const before = counts(service);
  lastSource().send("reload", {}, "2");
  await pass(500);
  const after = counts(service);
  expect(after[0]).toBe((before[0] ?? 0) + 1);
  expect(after[1]).toBe((before[1] ?? 0) + 1);
});

test("requests because of a change have its mark, so that pages may share the answer; others have none", async () => {
  const service = openRun();
  const [curves, log] = ["GET /runs/7/curves", "GET /runs/7/log"];
  await pass(100);
  expect(service.marks.get(curves)).toBeNull();
  lastSource().send("change", aChange({ step: 4 }, [], "5f.1"), "2");
  await pass(2000);
  lastSource().send("change", aChange({ step: 5 }, [], "5f.2"), "3");
  await pass(2000);
  expect(service.marks.get(curves)).toBe("5f.2");
  const before = count(service, "/runs/7/log");
  logText = "step 1\nstep 2\n";
  lastSource().send("log", { run_id: 7, size: logText.length }, "4");
  await pass(500);
  expect(count(service, "/runs/7/log")).toBe(before + 1);
  expect(service.marks.get(log)).toBeNull();
  lastSource().send("reload", {}, "5");
  await pass(2000);
  expect(service.marks.get(curves)).toBeNull();
});

test("slow requests of several pages come at common moments, those of curves at once", async () => {
  vi.setSystemTime(10_300);
  const service = openRun();
  const moments: number[] = [];
  service.answers["GET /runs/7"] = () => {
    moments.push(Date.now());
    return aRunDetail();
  };
  await pass(100);
  for (let number = 1; number <= 12; number++) {
    lastSource().send("change", aChange({ step: number }), String(number));
    await pass(250);
  }
  expect(moments.slice(2).map((moment) => moment % 1000)).toEqual([0, 0, 0]);
  expect(count(service, "/runs/7/curves")).toBeGreaterThan(12);
});

test("a page that is left closes its stream", async () => {
  openRun();
  await pass(100);
  const first = lastSource();
  act(() => {
    window.history.pushState(null, "", "/clusters");
    window.dispatchEvent(new PopStateEvent("popstate"));
  });
  expect(first.readyState).toBe(2);
});

test("a request that got no answer is repeated beside a stream, and one that was refused is not", async () => {
  const service = openRun();
  service.broken.add("GET /runs/7/curves");
  service.refused["GET /runs/7/log"] = { status: 404, detail: "there is no log" };
  await pass(100);
  lastSource().send("beat", {}, "1");
  const [curves = 0, log = 0] = counts(service);
  service.broken.clear();
  await pass(6000);
  expect(count(service, "/runs/7/curves")).toBe(curves + 1);
  expect(count(service, "/runs/7/log")).toBe(log);
  await pass(6000);
  expect(count(service, "/runs/7/curves")).toBe(curves + 1);
});
