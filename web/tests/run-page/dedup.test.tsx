import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ArtifactView, ProgramSpec, RunDetail } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRunDetail, Service } from "../testing/service";

const DEDUP: ProgramSpec["dedup"] = {
  images: "/data/images",
  hash: "perceptual",
  bits: 256,
  threshold: 48,
  keep: "first",
  exact: false,
};
const FIGURES = { images: 2048, kept: 1430, left_out: 614, unreadable: 4, groups: 420, hashed_share: 1 };

function aReport(change: Partial<ArtifactView> = {}): ArtifactView {
  return {
    name: "report",
    kind: "file",
    attempt: 1,
    run: 7,
    path: "dedup/report.html",
    size_bytes: 512,
    files: 1,
    sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    created_at: "2026-01-05T12:00:41Z",
    removed_at: null,
    removed_because: null,
    mirror: null,
    ...change,
  };
}

function openRun(change: Partial<RunDetail>, report = aReport(), dedup = DEDUP): void {
  new Service({
    "GET /runs/7": () => aRunDetail({ state: "done", spec: aProgram({ dedup }), ...change }),
    "GET /runs/7/curves": () => bucketedSeries({}),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /runs/7/artifacts": () => ({ items: [report], taken_from: null, object_store: null }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
}

async function panel(): Promise<HTMLElement> {
  return screen.findByRole("region", { name: "Near-duplicates" });
}

test("a search shows how many images stay and are left out, and links its report", async () => {
  openRun({ latest: FIGURES });
  const result = await panel();
  expect(result).toHaveTextContent("perceptual hash of 256 bits, similar up to 48 bits");
  const figures = within(result)
    .getAllByRole("definition")
    .map((one) => one.textContent.trim());
  expect(figures).toEqual(["2,048 4 unreadable", "1,430", "614 30.0%", "420"]);
  const link = await within(result).findByRole("link", { name: "Download the pictures of the groups" });
  expect(link).toHaveAttribute("href", "/api/v1/runs/7/artifacts/report");
});

test("a report that was removed has no link", async () => {
  openRun({ latest: FIGURES }, aReport({ removed_at: "2026-01-06T12:00:00Z", removed_because: "retention" }));
  await screen.findByText(/removed 2026-01-06/);
  expect(within(await panel()).queryByRole("link")).toBeNull();
});

test.each([
  ["running", {}, "No image has been hashed."],
  ["running", { hashed_share: 0.25 }, "25% of the images are hashed."],
  ["failed", { hashed_share: 0.25 }, "The run has no result."],
] as const)("without figures the panel of a %s run with %o states it", async (state, latest, text) => {
  openRun({ state, latest });
  expect(await panel()).toHaveTextContent(text);
});

test("a program without the section has no such panel", async () => {
  openRun({ latest: FIGURES }, aReport(), null);
  await screen.findByRole("region", { name: "Program" });
  expect(screen.queryByRole("region", { name: "Near-duplicates" })).toBeNull();
});

test("a search without a threshold of its own names the default", async () => {
  openRun({ latest: FIGURES }, aReport(), { ...DEDUP, images: "/data/images", bits: 64, threshold: null });
  expect(await panel()).toHaveTextContent("perceptual hash of 64 bits, default threshold");
});
