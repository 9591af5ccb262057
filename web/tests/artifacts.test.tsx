import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ArtifactView, RunArtifacts, RunReuse } from "@/shared/api/types";
import { bucketedSeries } from "./testing/curves";
import { openPage } from "./testing/openPage";
import { anExperiment, aProgram, aRunDetail, Service } from "./testing/service";

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
