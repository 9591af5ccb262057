import { expect, test } from "vitest";
import { loadAllPages, loadPage } from "@/app/pages";

test.each(["/", "/runs", "/experiments/7", "/runs/7/", "/reports/3", "/compare"])(
  "the code of %s loads alone, before React asks for it",
  async (address) => {
    await expect(loadPage(address)).resolves.toBe(true);
  },
);

test("an address without a page loads no code", async () => {
  await expect(loadPage("/experiments/seven")).resolves.toBe(false);
});

test("all pages can be loaded in advance", async () => {
  await expect(loadAllPages()).resolves.toBeUndefined();
});
