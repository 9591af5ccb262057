import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { logText } from "@/features/run-page/texts/log";
import { openPage } from "../testing/openPage";
import { aRunDetail, Service } from "../testing/service";

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
