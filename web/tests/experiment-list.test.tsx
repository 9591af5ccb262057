import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { open } from "./openPage";
import { anExperiment, Service } from "./service";

const clusters = () => [];

function listing(items: unknown[], next: number | null = null) {
  return new Service({
    "GET /experiments": (url) =>
      url.searchParams.has("before")
        ? {
            items: [anExperiment({ id: 1, name: "an old one", state: "done", counts: { done: 1 } })],
            next: null,
          }
        : { items, next },
    "GET /experiments/3/points": () => ({ name: "heldout_accuracy", curves: [], more: false }),
    "GET /clusters": clusters,
  });
}

test("an experiment shows its name, how far it is and how good", async () => {
  listing([anExperiment()]);
  open("/");
  const row = (await screen.findByRole("link", { name: "a sweep" })).closest("li");
  expect(row).toHaveTextContent("62%");
  expect(row).toHaveTextContent("93.12%");
  expect(screen.getByRole("progressbar")).toHaveAttribute(
    "aria-valuetext",
    "62% of all steps; 1 done, 1 running",
  );
  expect(document.title).toContain("1 under way");
});

test("older experiments are one link away, and so are the newest from there", async () => {
  listing([anExperiment()], 3);
  open("/");
  await userEvent.click(await screen.findByRole("link", { name: "Older" }));
  expect(await screen.findByRole("link", { name: "an old one" })).toBeVisible();
  await userEvent.click(screen.getByRole("link", { name: "Newest" }));
  expect(await screen.findByRole("link", { name: "a sweep" })).toBeVisible();
});

test("an empty list says how to submit the first experiment", async () => {
  listing([]);
  open("/");
  expect(await screen.findByText("bigbatch submit recipes/first-run.yaml")).toBeVisible();
});

test("a silent service is said so, the list stays, and the word goes when it answers again", async () => {
  const service = listing([anExperiment()]);
  open("/");
  await screen.findByRole("link", { name: "a sweep" });
  service.down = true;
  expect(await screen.findByText(/does not answer/)).toBeVisible();
  expect(screen.getByRole("link", { name: "a sweep" })).toBeVisible();
  service.down = false;
  await waitFor(() => {
    expect(screen.queryByText(/does not answer/)).toBeNull();
  });
});

test("one path in trouble is said so steadily while the others answer, until it answers too", async () => {
  const service = listing([anExperiment()]);
  service.broken.add("GET /clusters");
  open("/");
  await screen.findByText(/in trouble/);
  const lists = () => service.asked.filter((asked) => asked.startsWith("GET /experiments?")).length;
  const before = lists();
  await waitFor(() => {
    expect(screen.getByText(/in trouble/)).toBeVisible();
    expect(lists()).toBeGreaterThan(before + 1);
  });
  expect(screen.getByText(/in trouble/)).toBeVisible();
  service.broken.clear();
  await waitFor(() => {
    expect(screen.queryByText(/in trouble/)).toBeNull();
  });
});

test("the last points are asked for once more after the end", async () => {
  const service = listing([anExperiment()]);
  const asked = () => service.asked.filter((each) => each.includes("/points")).length;
  open("/");
  await screen.findByRole("link", { name: "a sweep" });
  service.answers["GET /experiments"] = () => ({
    items: [anExperiment({ state: "done", counts: { done: 2 } })],
    next: null,
  });
  await screen.findByText("nothing under way");
  const before = asked();
  await waitFor(() => {
    expect(asked()).toBe(before + 1);
  });
});

test("a cluster that does not answer says why beside what it said last", async () => {
  const service = listing([anExperiment()]);
  const partition = {
    name: "cpu",
    is_default: true,
    state: "up",
    nodes: 4,
    idle_nodes: 3,
    cpus: 8,
    time_limit: "",
    gres: "",
  };
  service.answers["GET /clusters"] = () => [
    {
      kind: "slurm",
      asked_at: "2026-01-05T12:00:00Z",
      error: "squeue: connection refused",
      report: { partitions: [partition], nodes: [], queue: [] },
    },
  ];
  open("/");
  expect(await screen.findByRole("alert")).toHaveTextContent("squeue: connection refused");
  expect(screen.getByText("3 of 4 idle")).toBeVisible();
});
