import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ArtifactView, RunArtifacts, RunDetail, RunReuse } from "@/shared/api/types";
import { bucketedSeries } from "../testing/curves";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRunDetail, Service } from "../testing/service";

const HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

function anArtifact(change: Partial<ArtifactView> = {}): ArtifactView {
  return {
    name: "model",
    kind: "file",
    attempt: 1,
    run: 7,
    path: "out/model.pt",
    size_bytes: 102_400_000,
    files: 1,
    sha256: HASH,
    created_at: "2026-01-05T12:00:41Z",
    removed_at: null,
    removed_because: null,
    mirror: null,
    ...change,
  };
}

function aReuse(change: Partial<RunReuse> = {}): RunReuse {
  const sentence = "carried out: train.py line 40 differs (against run 5)";
  return { asked: true, taken_from: null, sentence, nearest: 5, spec: [], code: null, inputs: [], ...change };
}

function aCopy(change: Partial<ArtifactCopy> = {}): ArtifactCopy {
  const sentence = "copied to s3://team/x on 2026-01-05 12:00:45 UTC and read back: the hashes are equal";
  return { state: "mirrored", store: "s3://team/x", copied_at: "2026-01-05T12:00:45Z", sentence, ...change };
}

type ArtifactCopy = NonNullable<ArtifactView["mirror"]>;
type Store = RunArtifacts["object_store"];

function service(items: ArtifactView[], takenFrom: number | null = null, store: Store = null) {
  return new Service({
    "GET /runs/7": () => aRunDetail({ state: "done", spec: aProgram({ reuse: true }) }),
    "GET /runs/7/curves": () => bucketedSeries({}),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /runs/7/artifacts": () => ({ items, taken_from: takenFrom, object_store: store }),
    "GET /runs/7/reuse": () => aReuse(),
    "GET /experiments/3": () => anExperiment(),
  });
}

test("each artifact has its size, its hash and a link that downloads it", async () => {
  service([
    anArtifact(),
    anArtifact({ name: "samples", kind: "folder", path: "samples", files: 1200, size_bytes: 512 }),
  ]);
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Artifacts" });
  const [, model, samples] = within(panel).getAllByRole("row");
  expect(model).toHaveTextContent("modelfile102 MBout/model.pt9f86d081884c");
  expect(samples).toHaveTextContent("samplesfolder of 1,200 files512 B");
  const link = within(panel).getByRole("link", { name: "model" });
  expect(link).toHaveAttribute("href", "/api/v1/runs/7/artifacts/model");
  expect(link).toHaveAttribute("download");
});

test("a removed artifact stays listed with the reason, and without a link", async () => {
  service([anArtifact({ removed_at: "2026-02-05T12:00:00Z", removed_because: "retention" })]);
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Artifacts" });
  expect(panel).toHaveTextContent("removed 2026-02-05, as the run's retention allows");
  expect(within(panel).queryByRole("link")).toBeNull();
});

test("a run that took a result names the run that has the files", async () => {
  service([anArtifact({ attempt: 0, run: 5 })], 5);
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Artifacts" });
  expect(within(panel).getByRole("link", { name: "run 5" })).toHaveAttribute("href", "/runs/5");
});

test("each artifact shows its copy in the object store, and a store that is down is named once", async () => {
  const down = "s3://team/x does not work since 2026-01-05 12:01:00 UTC (connection refused)";
  const store = { url: "s3://team/x", works: false, sentence: down };
  const faulty = aCopy({
    state: "faulty",
    sentence: "it has no copy in the object store: its files changed",
  });
  service([anArtifact({ mirror: aCopy() }), anArtifact({ name: "notes", mirror: faulty })], null, store);
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Artifacts" });
  expect(within(panel).getByRole("status")).toHaveTextContent(`${down}.`);
  const [, model, notes] = within(panel).getAllByRole("row");
  expect(within(model as HTMLElement).getByText("mirrored")).toHaveAttribute("title", aCopy().sentence);
  expect(notes).toHaveTextContent(faulty.sentence);
});

test("without an object store there is no column of copies", async () => {
  service([anArtifact()]);
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Artifacts" });
  expect(within(panel).queryByRole("columnheader", { name: "Copy" })).toBeNull();
});

test("a run without artifacts has no panel, and says why it was carried out", async () => {
  service([]);
  openPage("/runs/7");
  const note = await screen.findByLabelText("Reuse");
  expect(note).toHaveTextContent("train.py line 40 differs");
  expect(within(note).getByRole("link", { name: "run 5" })).toHaveAttribute("href", "/runs/5");
  expect(screen.queryByRole("region", { name: "Artifacts" })).toBeNull();
});

const ITEM = {
  step: 1200,
  attempt: 2,
  is_complete: true,
  size_bytes: 2.05e8,
  written_at: "2026-01-05T12:00:00Z",
};

function open(change: Partial<RunDetail>) {
  const items = [
    { ...ITEM, name: "step-0000001400-attempt-2", step: 1400, is_complete: false },
    { ...ITEM, name: "step-0000001200-attempt-2" },
    { ...ITEM, name: "latest.pt", step: null, attempt: null, size_bytes: 512 },
  ];
  const service = new Service({
    "GET /runs/7": () => aRunDetail(change),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /runs/7/checkpoints": () => ({ items, total: 30, folder: "/runs/000007-ab/checkpoints" }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
  return service;
}

test.each(["running", "paused", "failed", "cancelled"] as const)(
  "a run that is %s shows its checkpoints",
  async (state) => {
    open({ state });
    const panel = await screen.findByRole("region", { name: "Stored checkpoints" });
    const rows = within(panel).getAllByRole("row").slice(1);
    expect(rows[0]).toHaveTextContent("step-0000001400-attempt-2 not complete1,4002205 MB");
    expect(rows[1]).toHaveTextContent("step-0000001200-attempt-2 1,2002205 MB");
    expect(rows[2]).toHaveTextContent("latest.pt ––512 B");
    expect(panel).toHaveTextContent("The newest 3 of 30 entries.");
    expect(panel).toHaveTextContent("/runs/000007-ab/checkpoints");
  },
);

test.each([{ state: "done" }, { state: "queued", attempt: 0 }] as const)(
  "a run that is %o asks for no checkpoints",
  async (change) => {
    const service = open(change);
    await screen.findByRole("region", { name: "Log" });
    expect(service.requests.filter((each) => each.includes("/runs/7/checkpoints"))).toEqual([]);
  },
);

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
