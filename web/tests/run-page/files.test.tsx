import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { openPage } from "../testing/openPage";
import { aProgram, aRunDetail, Service } from "../testing/service";

const file = (path: string, size_bytes: number) => ({ path, size_bytes, written_at: "2026-01-05T12:00:00Z" });

test("what a program wrote is listed by folder with its sizes, and each file can be downloaded", async () => {
  const items = [
    file("work/figs/a b.png", 2500),
    file("final.pt", 5_000_000),
    file("checkpoints/step-100/model.pt", 3_000_000),
    file("work/figs/c.png", 500),
  ];
  new Service({
    "GET /runs/7": () => aRunDetail({ spec: aProgram(), state: "running" }),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /runs/7/files": () => ({
      ...{ items, total: 4, size_bytes: 8_003_000, is_cut: false, folder: "/runs/7", jobs: [] },
    }),
  });
  openPage("/runs/7");
  const table = await screen.findByRole("table", { name: "Files that the program wrote" });
  const rows = within(table).getAllByRole("row").slice(1);
  const cells = rows.map((row) => [...row.children].slice(0, 2).map(({ textContent }) => textContent));
  expect(cells).toEqual([
    ["work/figs/ 2 files", "3 kB"],
    ["a b.png", "2.5 kB"],
    ["c.png", "500 B"],
    ["final.pt", "5 MB"],
    ["checkpoints/step-100/ 1 file", "3 MB"],
    ["model.pt", "3 MB"],
  ]);
  const link = within(table).getByRole("link", { name: "a b.png" });
  expect(link).toHaveAttribute("href", "/api/v1/runs/7/files/work/figs/a%20b.png");
  expect(link).toHaveAttribute("download");
});
