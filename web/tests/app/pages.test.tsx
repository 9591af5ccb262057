import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { loadAllPages, loadedPage, loadPage } from "@/app/pages";

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

function Numbered({ id }: { id: number }) {
  return <h1>page {id}</h1>;
}

test("a page whose code is there shows at once, and its code is fetched once", async () => {
  const fetchCode = vi.fn(() => Promise.resolve(Numbered));
  const { Page, load } = loadedPage(fetchCode);
  await load();
  const { unmount } = render(<Page id={7} />);
  expect(screen.getByRole("heading", { name: "page 7" })).toBeVisible();
  unmount();
  render(<Page id={8} />);
  expect(screen.getByRole("heading", { name: "page 8" })).toBeVisible();
  expect(fetchCode).toHaveBeenCalledOnce();
});

test("a page shows as soon as its code has come", async () => {
  const { Page } = loadedPage(() => Promise.resolve(Numbered));
  render(<Page id={7} />);
  expect(screen.queryByRole("heading")).toBeNull();
  expect(await screen.findByRole("heading", { name: "page 7" })).toBeVisible();
});

test("a page whose code cannot be loaded says so", async () => {
  const { Page } = loadedPage<{ id: number }>(() => Promise.reject(new TypeError("no network")));
  render(<Page id={7} />);
  expect(await screen.findByText("This page did not load")).toBeVisible();
  expect(screen.getByRole("button", { name: "Reload" })).toBeEnabled();
});
