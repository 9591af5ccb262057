import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { RunDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

const WHOLE = { text: "0: step 1\n1: step 1\n", offset: 0, next: 20, size: 20 };
const FOUND = { text: "1: step 1\n", offset: 0, next: 20, size: 20, note: null, names_ranks: true };

/** Open a run whose log answers searches with `found`, by the query. */
function open(found: (query: URLSearchParams) => object, change: Partial<RunDetail> = {}) {
  const service = new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": ({ searchParams: query }) => {
      if (["rank", "search", "level"].some((name) => query.has(name))) return found(query);
      return query.get("offset") === "20" ? { ...WHOLE, text: "", offset: 20 } : WHOLE;
    },
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  return service;
}

async function panel() {
  return within(await screen.findByRole("region", { name: "Log" }));
}

test("the log shows the lines of one rank, and appends new ones", async () => {
  let isGrown = false;
  open((query) => {
    expect(query.get("rank")).toBe("1");
    if (!query.has("offset")) return FOUND;
    expect(query.get("offset")).toBe("20");
    return isGrown
      ? { ...FOUND, text: "1: step 2\n", offset: 20, next: 30, size: 30 }
      : { ...FOUND, text: "", offset: 20 };
  });
  const log = await panel();
  const lines = await log.findByText(/0: step 1/);
  await userEvent.selectOptions(log.getByRole("combobox", { name: "Rank" }), "1");
  await waitFor(() => {
    expect(lines.textContent).toBe("1: step 1\n");
  });
  isGrown = true;
  await waitFor(() => {
    expect(lines.textContent).toMatch(/^1: step 1\n(1: step 2\n)+$/);
  });
  expect(log.getByText("follows")).toBeVisible();
});

test("a typed text and a level are searched, and without them the log is as before", async () => {
  const service = open(() => ({ ...FOUND, text: "" }), { state: "failed" });
  const log = await panel();
  await log.findByText(/0: step 1/);
  for (const value of ["o", "oo", "oom"]) {
    fireEvent.change(log.getByRole("searchbox", { name: "Search the log" }), { target: { value } });
  }
  await userEvent.selectOptions(log.getByRole("combobox", { name: "Level" }), "errors");
  await waitFor(() => {
    expect(service.requests).toContain("GET /runs/7/log?level=error&search=oom");
  });
  expect(await log.findByText("No line matches.")).toBeVisible();
  expect(service.requests.filter((each) => /search=oo?(&|$)/.test(each))).toEqual([]); // not with each letter
  await userEvent.clear(log.getByRole("searchbox"));
  await userEvent.selectOptions(log.getByRole("combobox", { name: "Level" }), "all");
  expect(await log.findByText(/0: step 1/)).toBeVisible();
});

test("a search that has not read the whole log says so, and goes on with a click", async () => {
  open(
    (query) =>
      query.get("before") === "3000000000"
        ? { ...FOUND, text: "0: first\n", offset: 0, next: 3e9, size: 3.1e9 }
        : { ...FOUND, text: "0: last\n", offset: 3e9, next: 3.1e9, size: 3.1e9, note: "the search ..." },
    { state: "failed" },
  );
  const log = await panel();
  await userEvent.type(log.getByRole("searchbox"), "loss");
  expect(await log.findByText("The search has read the last 100 MB of 3.1 GB.")).toBeVisible();
  await userEvent.click(log.getByRole("button", { name: "search earlier lines" }));
  expect(await log.findByText(/0: first\s+0: last/)).toBeVisible();
  expect(log.queryByText(/The search has read/)).toBeNull();
});

test("a log whose lines name no rank says so", async () => {
  open(() => ({ ...FOUND, text: "", names_ranks: false }));
  const log = await panel();
  await userEvent.selectOptions(await log.findByRole("combobox", { name: "Rank" }), "3");
  expect(await log.findByText("The lines of this log do not name their rank.")).toBeVisible();
});

test("a run of one rank has no choice of ranks", async () => {
  open(() => FOUND, { world: 1 });
  expect((await panel()).queryByLabelText("Rank")).toBeNull();
});

test("a rank among thousands is typed", async () => {
  open((query) => ({ ...FOUND, text: `${query.get("rank")}: step 1\n` }), { world: 2048 });
  const log = await panel();
  await userEvent.type(log.getByRole("textbox", { name: "Rank" }), "1999");
  expect(await log.findByText(/1999: step 1/)).toBeVisible();
});
