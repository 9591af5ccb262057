import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { logText } from "@/features/run-page/texts/log";
import type { RunDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

const WHOLE = { isCut: false, hasLabels: false };
const frames = (last: number) =>
  Array.from({ length: last }, (_, at) => `\r${at + 1}/2001 |####${" ".repeat(56)}|`).join("");

/** Open a run with this log, of which the service sends parts by bytes. */
function open(printed: () => string, world = 1) {
  const service = new Service({
    "GET /runs/7": () => aRunDetail({ world }),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": ({ searchParams: query }) => {
      const bytes = Buffer.from(printed());
      const asked = Number(query.get("offset"));
      const offset = asked < 0 ? Math.max(0, bytes.length + asked) : asked;
      const part = bytes.subarray(offset, offset + Number(query.get("limit")));
      return { text: part.toString(), offset, next: offset + part.length, size: bytes.length };
    },
  });
  openPage("/runs/7");
  return service;
}

test("of a log that ends with 2,001 frames of a progress bar, the last frame follows the lines before", async () => {
  let last = 2000;
  open(() => `begin\n${frames(last)}`);
  const log = await screen.findByText(/2000\/2001/);
  expect(log.textContent).toBe(`begin\n2000/2001 |####${" ".repeat(56)}|`);
  last = 2001;
  await waitFor(() => {
    expect(log.textContent).toBe(`begin\n2001/2001 |####${" ".repeat(56)}|`);
  });
});

test("a log of one line of 100 kB shows its beginning, and how much of it is not shown", async () => {
  open(() => `first ${"x".repeat(100_000)}`);
  const log = await screen.findByText(/^first xxx/);
  expect(log.textContent).toBe(`first ${"x".repeat(8192 - 6)} … [91,814 more characters]`);
});

test("a line whose beginning is too far away shows its end, and says so", () => {
  const shown = logText(`\uFFFD${"é".repeat(9000)}\n`, { isCut: true, hasLabels: false });
  expect(shown).toBe(`[the beginning of this line is not shown] … ${"é".repeat(8192)}\n`);
});

test("a carriage return overwrites what its line had, but for the label of the rank", () => {
  expect(logText("1%\r2%\r\nnext\r\n", WHOLE)).toBe("2%\nnext\n");
  expect(logText("12: 1%\r13: 2%", WHOLE)).toBe("13: 2%");
  expect(logText(" 3: \r 1%\r 2%\n0: done\n", { ...WHOLE, hasLabels: true })).toBe(" 3:  2%\n0: done\n");
  expect(logText("f a line\nwhole\n", { isCut: true, hasLabels: false })).toBe("whole\n");
  expect(logText("f a line\r9%\nwhole\n", { isCut: true, hasLabels: false })).toBe("9%\nwhole\n");
});

const WHOLE_LOG = { text: "0: step 1\n1: step 1\n", offset: 0, next: 20, size: 20 };
const FOUND = { text: "1: step 1\n", offset: 0, next: 20, size: 20, note: null, names_ranks: true };

/** Open a run whose log answers searches with `found`, by the query. */
function openWith(found: (query: URLSearchParams) => object, change: Partial<RunDetail> = {}) {
  const service = new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": ({ searchParams: query }) => {
      if (["rank", "search", "level"].some((name) => query.has(name))) return found(query);
      return query.get("offset") === "20" ? { ...WHOLE_LOG, text: "", offset: 20 } : WHOLE_LOG;
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
  openWith((query) => {
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
  const service = openWith(() => ({ ...FOUND, text: "" }), { state: "failed" });
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
  openWith(
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
  openWith(() => ({ ...FOUND, text: "", names_ranks: false }));
  const log = await panel();
  await userEvent.selectOptions(await log.findByRole("combobox", { name: "Rank" }), "3");
  expect(await log.findByText("The lines of this log do not name their rank.")).toBeVisible();
});

test("a run of one rank has no choice of ranks", async () => {
  openWith(() => FOUND, { world: 1 });
  expect((await panel()).queryByLabelText("Rank")).toBeNull();
});

test("a rank among thousands is typed", async () => {
  openWith((query) => ({ ...FOUND, text: `${query.get("rank")}: step 1\n` }), { world: 2048 });
  const log = await panel();
  await userEvent.type(log.getByRole("textbox", { name: "Rank" }), "1999");
  expect(await log.findByText(/1999: step 1/)).toBeVisible();
});
