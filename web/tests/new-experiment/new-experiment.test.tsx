import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import type { Recipe } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, Service } from "../testing/service";

const RECIPE: Recipe = {
  name: "first-run",
  title: "first run",
  description: "Real digits in seconds.",
  clusters: ["local"],
  runs: 1,
  ranks: 4,
  text: "# the first one\nname: first run\nbase:\n  optimizer: {kind: lars}\n  batch: 256\n",
  last: { experiment_id: 3, seconds: 14 },
};
const SCHEMA = {
  type: "object",
  required: ["name", "base"],
  properties: {
    name: { type: "string", description: "Name of the experiment." },
    notes: { type: "string", default: "", description: "Notes in Markdown." },
    base: {
      type: "object",
      description: "The run.",
      required: ["batch"],
      properties: {
        batch: { type: "integer", description: "Samples of a step." },
        compile: { type: "boolean", default: false, description: "Whether torch.compile is used." },
        optimizer: {
          description: "The optimizer.",
          discriminator: { propertyName: "kind", mapping: { lars: "#/$defs/L", sgd: "#/$defs/S" } },
          oneOf: [{ $ref: "#/$defs/L" }, { $ref: "#/$defs/S" }],
        },
      },
    },
  },
  $defs: {
    L: { type: "object", properties: { kind: { const: "lars" } }, description: "LARS." },
    S: { type: "object", properties: { kind: { const: "sgd" }, momentum: { type: "number", default: 0.9 } } },
  },
};
const RUNS = [{ number: 0, values: { batch: 256 }, cluster: "local", world: 4, steps: 150 }];

const STARTS = [
  { cluster: "local", runs: 1, starts_at: null, source: "queue", text: "waits: run 3 has its ranks" },
  {
    cluster: "slurm",
    runs: 4,
    starts_at: "2026-01-05T12:00:00Z",
    source: "sbatch",
    text: "Slurm predicts it",
  },
];

function service(change: Service["answers"] = {}) {
  return new Service({
    "GET /recipes": () => [
      RECIPE,
      { ...RECIPE, name: "imagenet", title: "ImageNet", clusters: ["slurm"], last: null },
    ],
    "GET /schema": () => SCHEMA,
    "POST /experiments": (url) =>
      url.searchParams.has("dry_run") ? { spec: {}, runs: RUNS } : { id: 9, runs: [30], warnings: [] },
    "POST /starts": () => ({ starts: STARTS }),
    "POST /scripts": () => ({ text: "#!/bin/bash\n#SBATCH --nodes=2" }),
    "GET /experiments/9": () => anExperiment({ id: 9, name: "the new one" }),
    "GET /experiments/9/runs": () => ({ items: [], next: null }),
    "GET /experiments/9/curves": () => ({ name: "", curves: [] }),
    ...change,
  });
}

afterEach(() => {
  sessionStorage.clear();
});

test("the gallery shows the recipes by place, and how long each took here", async () => {
  service();
  openPage("/new");
  const here = within(await screen.findByRole("region", { name: "On this machine" }));
  expect(here.getByText(/1 run, 4 ranks · took 14 s here/)).toBeVisible();
  expect(screen.getByRole("region", { name: "On a Slurm cluster" })).toHaveTextContent("ImageNet");
  await userEvent.click(here.getByRole("link", { name: "first run" }));
  expect(window.location.search).toBe("?recipe=first-run");
});

test("a recipe is started from the gallery by one button, and a refusal is shown at it", async () => {
  const { refused, bodies, requests } = service();
  refused["POST /experiments"] = { status: 422, detail: "no cluster takes it", errors: [] };
  openPage("/new");
  const here = within(await screen.findByRole("region", { name: "On this machine" }));
  await userEvent.click(here.getByRole("button", { name: "Start first run" }));
  expect(await here.findByRole("alert")).toHaveTextContent("no cluster takes it");
  delete refused["POST /experiments"];
  await userEvent.click(here.getByRole("button", { name: "Start first run" }));
  expect(await screen.findByRole("heading", { name: "the new one" })).toBeVisible();
  expect(bodies.filter((sent) => sent.includes("# the first one"))).toHaveLength(2);
  expect(requests).not.toContain("POST /experiments?dry_run=true");
});

test("a draft shows when its jobs would start, and is asked about once its text has settled", async () => {
  const made = service();
  openPage("/new?recipe=first-run");
  const panel = await screen.findByRole("region", { name: "Predicted start" });
  expect(await within(panel).findByText("not known")).toBeVisible();
  expect(panel).toHaveTextContent("local, 1 run: waits: run 3 has its ranks");
  expect(panel).toHaveTextContent("at once slurm, 4 runs: Slurm predicts it");
  await userEvent.type(await screen.findByRole("textbox", { name: "batch" }), "0");
  expect(await screen.findByText("Valid: 1 run")).toBeVisible();
  await waitFor(() => {
    expect(made.requests.filter((one) => one === "POST /starts")).toHaveLength(2);
  });
});

test("a field of the form changes the text at its place, and the submission has the whole text", async () => {
  const { requests, bodies } = service();
  openPage("/new?recipe=first-run");
  const batch = await screen.findByRole("textbox", { name: "batch" });
  await userEvent.clear(batch);
  await userEvent.type(batch, "512");
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "Kind of base.optimizer" }), "sgd");
  await userEvent.selectOptions(
    screen.getByRole("combobox", { name: "Add a field of base.optimizer" }),
    "momentum",
  );
  expect(await screen.findByText("Valid: 1 run")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Submit" }));
  expect(await screen.findByRole("heading", { name: "the new one" })).toBeVisible();
  expect(requests).toContain("POST /experiments");
  const sent = bodies.at(-1) ?? "";
  expect(sent).toContain("# the first one");
  expect(sent).toContain("batch: 512");
  expect(sent).toMatch(/optimizer:\s+kind: sgd\s+momentum: 0.9/);
});

test("an invalid field is named at the field and in a list, and nothing can be submitted", async () => {
  const made = service();
  const errors = [{ path: "base.batch", message: "must be at least 1" }];
  made.refused["POST /experiments"] = {
    status: 422,
    detail: "the experiment is not valid",
    errors,
  };
  openPage("/new?recipe=first-run");
  const list = await screen.findByRole("alert", { name: "Errors" });
  expect(list).toHaveTextContent("base.batch must be at least 1");
  expect(screen.getByRole("textbox", { name: "batch" })).toHaveAccessibleDescription("must be at least 1");
  expect(screen.getByRole("button", { name: "Submit" })).toBeDisabled();
});

test("the draft shows its runs, and the batch scripts on request", async () => {
  service();
  openPage("/new?recipe=first-run");
  const runs = within(await screen.findByRole("region", { name: "Runs" }));
  expect(runs.getByRole("row", { name: "0 256 local 4 150" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Show the batch scripts" }));
  expect(await screen.findByText(/#SBATCH --nodes=2/)).toBeVisible();
});

test("what was changed is there again after a reload", async () => {
  service();
  openPage("/new?recipe=first-run");
  const name = await screen.findByRole("textbox", { name: "name" });
  await userEvent.clear(name);
  await userEvent.type(name, "mine");
  openPage("/new?recipe=first-run");
  expect((await screen.findAllByDisplayValue("mine")).length).toBeGreaterThan(0);
});

test("a recipe that does not exist leads back to all", async () => {
  service();
  openPage("/new?recipe=none");
  expect(await screen.findByText("There is no such recipe")).toBeVisible();
});
