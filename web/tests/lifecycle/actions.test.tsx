import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { ExperimentDetail, RunDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRun, aRunDetail, Service } from "../testing/service";

const SIZE = {
  ...{ runs: 1, size_bytes: 1_250_000, files: 12, is_complete: true },
  ...{ undo_hours: 24, blocked_by: [] },
};
const UNTIL = "2026-01-06T12:00:00Z";

function runPage(change: Partial<RunDetail> = {}) {
  return new Service({
    "GET /runs/7": () => aRunDetail({ ended_at: "2026-01-05T12:05:00Z", ...change }),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /runs/7/size": () => ({ ...SIZE, confirm: "000007-ab" }),
    "GET /experiments/3": () => anExperiment(),
    "GET /experiments/3/runs": () => ({ items: [], next: null }),
    "GET /experiments/3/curves": () => ({ name: "", curves: [] }),
    "POST /runs/7/retry": () => ({ queued: [7], waiting: [], unchanged: [] }),
    "POST /runs/7/extend": () => ({ id: 7, epochs: 5, steps: 25, from_step: 10, state: "queued" }),
    "PATCH /runs/7": () => ({ id: 7, notes: "", tags: [], archived_at: null }),
    "DELETE /runs/7": () => ({ runs: 1, restorable_until: UNTIL }),
    "POST /runs/7/restore": () => ({ runs: 1 }),
  });
}

const SPEC = {
  ...{ name: "a grid", variants: [], axes: { "parameters.lr": [0.1, 0.2] } },
  base: { kind: "program", command: "python train.py --lr {lr}", parameters: { lr: 0.1 }, steps: 0 },
} as unknown as ExperimentDetail["spec"];

const DRAFT = { spec: {}, runs: [{ number: 0, values: {}, cluster: "local", world: 1, steps: 5 }] };

function experimentPage(change: Partial<ExperimentDetail> = {}) {
  const counts = { done: 1, failed: 2, cancelled: 1 };
  return new Service({
    "GET /experiments/3": () => anExperiment({ state: "failed", counts, runs: 4, spec: SPEC, ...change }),
    "GET /experiments/3/document": () => ({ text: "name: a grid\nbase: {}\n" }),
    "GET /experiments/3/runs": () => ({ items: [aRun({ state: "failed" })], next: null }),
    "GET /experiments/3/curves": () => ({ name: "", curves: [] }),
    "GET /experiments/3/size": () => ({ ...SIZE, runs: 4, confirm: "a grid" }),
    "GET /experiments/9": () => anExperiment({ id: 9, name: "the new one" }),
    "GET /experiments/9/runs": () => ({ items: [], next: null }),
    "GET /experiments/9/curves": () => ({ name: "", curves: [] }),
    "GET /experiments": () => ({ items: [], next: null }),
    "GET /clusters": () => [],
    "POST /experiments": (url) =>
      url.searchParams.has("dry_run") ? DRAFT : { id: 9, runs: [30, 31], warnings: [] },
    "POST /experiments/3/retry": () => ({ queued: [5, 6], waiting: [6], unchanged: [] }),
    "POST /experiments/3/points": () => ({ id: 3, runs: [45, 46], existing: 1 }),
    "POST /experiments/9/points": () => ({ id: 9, runs: [32], existing: 0 }),
    "PATCH /experiments/3": () => anExperiment(),
    "DELETE /experiments/3": () => ({ runs: 4 }),
  });
}

async function choose(item: string) {
  await userEvent.click(await screen.findByRole("button", { name: "More" }));
  await userEvent.click(screen.getByRole("menuitem", { name: item }));
}

test.each([
  ["failed", "Retry"],
  ["cancelled", "Resume"],
] as const)("a run that is %s has a button %s, which queues its next attempt", async (state, label) => {
  const service = runPage({ state });
  openPage("/runs/7");
  const button = await screen.findByRole("button", { name: label });
  service.answers["GET /runs/7"] = () => aRunDetail({ state: "queued" });
  await userEvent.click(button);
  expect(await screen.findByText("1 run queued")).toBeVisible();
  expect(service.bodies).toEqual([`POST /runs/7/retry {"states":["${state}"],"accept_new_data":false}`]);
});

test("a retry that changes nothing shows why, and a refused one shows the reason of the service", async () => {
  const service = runPage({ state: "failed" });
  service.answers["POST /runs/7/retry"] = () => ({
    ...{ queued: [], waiting: [] },
    unchanged: [{ id: 7, state: "running", why: "the run has not ended" }],
  });
  openPage("/runs/7");
  await userEvent.click(await screen.findByRole("button", { name: "Retry" }));
  expect(await screen.findByText("No run queued: the run has not ended")).toBeVisible();
  service.refused["POST /runs/7/retry"] = { status: 503, detail: "the database is locked" };
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await screen.findByText("The request failed: the database is locked")).toBeVisible();
});

test("an experiment retries all its failed runs, or resumes the stopped ones", async () => {
  const service = experimentPage();
  openPage("/experiments/3");
  await userEvent.click(await screen.findByRole("button", { name: "Retry 2 failed runs" }));
  expect(await screen.findByText("2 runs queued; 1 of them after the end of their last jobs")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Resume 1 stopped run" }));
  await waitFor(() => {
    expect(service.bodies).toEqual([
      'POST /experiments/3/retry {"states":["failed"],"accept_new_data":false}',
      'POST /experiments/3/retry {"states":["cancelled"],"accept_new_data":false}',
    ]);
  });
});

test("a deletion shows its size, and needs the text that confirms it", async () => {
  const service = runPage({ state: "done" });
  openPage("/runs/7");
  await choose("Delete…");
  const dialog = within(screen.getByRole("dialog", { name: "Delete run 7?" }));
  const confirm = await dialog.findByLabelText("Type 000007-ab to confirm");
  expect(screen.getByRole("dialog")).toHaveTextContent("This removes 1 run, 12 files, 1.25 MB");
  expect(screen.getByRole("dialog")).toHaveTextContent("You can undo it for 24 h");
  const button = dialog.getByRole("button", { name: "Delete run 7" });
  expect(button).toBeDisabled();
  await userEvent.type(confirm, "000007-a{Enter}");
  expect(button).toBeDisabled();
  expect(service.requests.filter((request) => request.startsWith("DELETE"))).toEqual([]);
  await userEvent.type(confirm, "b");
  await userEvent.click(button);
  expect(await screen.findByRole("heading", { name: "a grid" })).toBeVisible();
  expect(service.requests).toContain("DELETE /runs/7?confirm=000007-ab");
  expect(screen.getByText(/Run 7 is deleted\. The files stay until/)).toBeVisible();
  service.refused["POST /runs/7/restore"] = { status: 409, detail: "its files are being removed" };
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  expect(await screen.findByText("Nothing was restored: its files are being removed")).toBeVisible();
  delete service.refused["POST /runs/7/restore"];
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  await waitFor(() => {
    expect(screen.queryByRole("button", { name: "Undo" })).toBeNull();
  });
  expect(service.requests.filter((one) => one === "POST /runs/7/restore")).toHaveLength(2);
});

test("a deletion without an undo says that it has none, and offers none", async () => {
  const service = runPage({ state: "done" });
  service.answers["GET /runs/7/size"] = () => ({ ...SIZE, confirm: "000007-ab", undo_hours: 0 });
  service.answers["DELETE /runs/7"] = () => ({ runs: 1, restorable_until: null });
  openPage("/runs/7");
  await choose("Delete…");
  await userEvent.type(await screen.findByLabelText("Type 000007-ab to confirm"), "000007-ab");
  expect(screen.getByRole("dialog")).toHaveTextContent("It cannot be undone.");
  await userEvent.click(screen.getByRole("button", { name: "Delete run 7" }));
  expect(await screen.findByRole("heading", { name: "a grid" })).toBeVisible();
  expect(screen.queryByRole("button", { name: "Undo" })).toBeNull();
});

test("the page Deleted lists what can be restored, and restores it", async () => {
  const moments = { deleted_at: "2026-01-05T12:00:00Z", restorable_until: UNTIL };
  const items = [
    { kind: "experiment", id: 3, experiment_id: 3, name: "a grid", runs: 4, ...moments },
    { kind: "run", id: 9, experiment_id: 2, name: "another", runs: 1, ...moments },
  ];
  const service = new Service({
    "GET /deletions": () => ({ items, next: null }),
    "POST /experiments/3/restore": () => ({ runs: 4 }),
  });
  openPage("/deleted");
  expect(await screen.findByRole("cell", { name: "experiment 3 with 4 runs" })).toBeVisible();
  expect(screen.getByRole("cell", { name: "run 9" })).toBeVisible();
  items.shift();
  await userEvent.click(screen.getByRole("button", { name: "Restore experiment 3" }));
  await waitFor(() => {
    expect(screen.queryByRole("cell", { name: "experiment 3 with 4 runs" })).toBeNull();
  });
  expect(service.requests).toContain("POST /experiments/3/restore");
});

test("a deletion that runs prevent names them, and cancel deletes nothing", async () => {
  const service = experimentPage();
  service.answers["GET /experiments/3/size"] = () => ({ ...SIZE, confirm: "a grid", blocked_by: [43, 44] });
  openPage("/experiments/3");
  await choose("Delete…");
  expect(await screen.findByText(/Stop these runs first: 43, 44\./)).toBeVisible();
  expect(screen.getByRole("button", { name: "Delete a grid" })).toBeDisabled();
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(screen.getByRole("button", { name: "More" })).toHaveFocus();
});

test("a clone is edited on the page of a new experiment, with the original as its origin", async () => {
  const service = experimentPage();
  service.answers["GET /schema"] = () => ({
    ...{ type: "object", required: ["name"] },
    properties: { name: { type: "string" } },
  });
  openPage("/experiments/3");
  await choose("Clone with changes…");
  expect(window.location.search).toBe("?from=3");
  const name = await screen.findByRole("textbox", { name: "name" });
  await userEvent.type(name, " again");
  await screen.findByText("Valid: 1 run");
  await userEvent.click(screen.getByRole("button", { name: "Submit" }));
  expect(await screen.findByRole("heading", { name: "the new one" })).toBeVisible();
  expect(service.requests).toContain("POST /experiments?origin=3");
  expect(service.bodies.at(-1)).toContain("name: a grid again");
  sessionStorage.clear();
});

test("warnings of a submission remain in view, with a link to the new experiment", async () => {
  const service = experimentPage();
  service.answers["GET /schema"] = () => ({ type: "object", properties: {} });
  service.answers["POST /experiments"] = (url) =>
    url.searchParams.has("dry_run") ? DRAFT : { id: 9, runs: [30], warnings: ["there is no module 'nets'"] };
  openPage("/new?from=3");
  await screen.findByText("Valid: 1 run");
  await userEvent.click(screen.getByRole("button", { name: "Submit" }));
  expect(await screen.findByText("there is no module 'nets'")).toBeVisible();
  expect(screen.getByRole("link", { name: "Experiment 9" })).toHaveAttribute("href", "/experiments/9");
});

test("a rerun submits the same spec after a confirmation, with the points outside its grid", async () => {
  const service = experimentPage({ added_points: [{ "parameters.lr": 0.7 }] });
  const text = "name: a grid\nbase: {seed: 9007199254740993, rate: 1.0}\n";
  service.answers["GET /experiments/3/document"] = () => ({ text });
  openPage("/experiments/3");
  await choose("Rerun…");
  await userEvent.click(screen.getByRole("button", { name: "Submit 4 runs" }));
  expect(await screen.findByRole("heading", { name: "the new one" })).toBeVisible();
  expect(service.bodies).toEqual([
    `POST /experiments ${text}`,
    'POST /experiments/9/points {"axes":{},"points":[],"like":3}',
  ]);
});

test("a run that is done goes on to more epochs, and a program cannot", async () => {
  const service = runPage({ state: "done" });
  openPage("/runs/7");
  await choose("Extend…");
  const epochs = screen.getByLabelText("Epochs of the whole run");
  await userEvent.clear(epochs);
  await userEvent.type(epochs, "2");
  expect(screen.getByText("an integer above 2, the epochs of the run now")).toBeVisible();
  expect(screen.getByRole("button", { name: "Extend" })).toBeDisabled();
  await userEvent.clear(epochs);
  await userEvent.type(epochs, "5{Enter}");
  expect(await screen.findByText("Queued to go on from step 10 to step 25")).toBeVisible();
  expect(service.bodies).toEqual(['POST /runs/7/extend {"epochs":5}']);
});

test("further values of an axis and a point become runs, and a text that cannot be read is named", async () => {
  const service = experimentPage();
  openPage("/experiments/3");
  await choose("Add runs…");
  await userEvent.type(screen.getByRole("textbox", { name: "parameters.lr" }), "0.4, 0.8");
  expect(screen.getByText(/^as \{"parameters.lr":/)).toBeVisible(); // of this experiment, and no field of the engine
  await userEvent.type(screen.getByLabelText("A point outside the grid"), "lr");
  expect(screen.getByText('an object in JSON, as {"batch": 2048}')).toBeVisible();
  expect(screen.getByRole("button", { name: "Add runs" })).toBeDisabled();
  await userEvent.clear(screen.getByLabelText("A point outside the grid"));
  await userEvent.click(screen.getByRole("button", { name: "Add runs" }));
  expect(await screen.findByText("2 runs added; 1 point had a run already")).toBeVisible();
  expect(service.bodies).toEqual([
    'POST /experiments/3/points {"axes":{"parameters.lr":[0.4,0.8]},"points":[],"like":null}',
  ]);
});

test("a run is archived and unarchived, and a program has no epochs to extend", async () => {
  const service = runPage({ state: "done", spec: aProgram() });
  openPage("/runs/7");
  await userEvent.click(await screen.findByRole("button", { name: "More" }));
  expect(screen.queryByRole("menuitem", { name: "Extend…" })).toBeNull();
  service.answers["GET /runs/7"] = () => aRunDetail({ state: "done", archived_at: "2026-01-05T12:00:00Z" });
  await userEvent.click(screen.getByRole("menuitem", { name: "Archive" }));
  expect(await screen.findByText("archived")).toBeVisible();
  await choose("Unarchive");
  expect(service.bodies).toEqual(['PATCH /runs/7 {"archived":true}', 'PATCH /runs/7 {"archived":false}']);
});

test("a run is left out of answers with a reason, which its page shows, and counted again", async () => {
  const service = runPage({ state: "done" });
  openPage("/runs/7");
  await choose("Leave out of answers…");
  expect(screen.getByRole("button", { name: "Leave out" })).toBeDisabled();
  await userEvent.type(screen.getByLabelText("Reason"), "the disk was full");
  service.answers["GET /runs/7"] = () => aRunDetail({ state: "done", left_out: "the disk was full" });
  await userEvent.click(screen.getByRole("button", { name: "Leave out" }));
  expect(await screen.findByText("left out of answers: the disk was full")).toBeVisible();
  await choose("Count in answers again");
  expect(service.bodies).toEqual([
    'PATCH /runs/7 {"left_out":"the disk was full"}',
    'PATCH /runs/7 {"left_out":""}',
  ]);
});

test("the arrow keys move in the menu, and Escape closes it", async () => {
  runPage({ state: "done" });
  openPage("/runs/7");
  const more = await screen.findByRole("button", { name: "More" });
  await userEvent.click(more);
  expect(screen.getByRole("menuitem", { name: "Compare with…" })).toHaveFocus();
  await userEvent.keyboard("{ArrowDown}");
  expect(screen.getByRole("menuitem", { name: "Rerun…" })).toHaveFocus();
  await userEvent.keyboard("{ArrowUp}{ArrowUp}");
  expect(screen.getByRole("menuitem", { name: "Delete…" })).toHaveFocus();
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("menu")).toBeNull();
  expect(more).toHaveFocus();
});
