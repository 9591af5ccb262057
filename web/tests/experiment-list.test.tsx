import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { pathsOfSeries } from "@/features/experiment-list/CurveThumbnail";
import { anExperiment, aPartition, Service } from "./testing/service";
import { curve } from "./testing/curves";
import { openPage } from "./testing/openPage";

const clusters = () => [];

function listing(items: unknown[], next: number | null = null) {
  return new Service({
    "GET /experiments": (url) =>
      url.searchParams.has("before")
        ? {
            items: [anExperiment({ id: 1, name: "an old experiment", state: "done", counts: { done: 1 } })],
            next: null,
          }
        : { items, next },
    "GET /experiments/3/curves": () => ({ name: "heldout_accuracy", curves: [] }),
    "GET /clusters": clusters,
  });
}

test("a row shows an experiment's name, progress and accuracy", async () => {
  listing([anExperiment()]);
  openPage("/");
  const row = (await screen.findByRole("link", { name: "a grid" })).closest("li");
  expect(row).toHaveTextContent("62%");
  expect(row).toHaveTextContent("93.12%");
  expect(screen.getByRole("progressbar")).toHaveAttribute(
    "aria-valuetext",
    "62% of all steps; 1 done, 1 running",
  );
  expect(document.title).toContain("1 active");
});

test("an experiment without an accuracy says whether one can still come", async () => {
  const none = { best: null, series: ["heldout_accuracy"] };
  const ended = { ...none, id: 4, name: "an ended grid", state: "done" as const, counts: { done: 2 } };
  listing([anExperiment(none), anExperiment(ended)]);
  openPage("/");
  const row = async (name: string) => (await screen.findByRole("link", { name })).closest("li");
  expect(await row("a grid")).toHaveTextContent("no metric yet");
  expect(await row("an ended grid")).toHaveTextContent("no metric reported");
});

test("an experiment of programs has the best value of a metric, and the number of diverged runs", async () => {
  const objective = { metric: "val/acc", goal: "max", value: "best" } as const;
  const program = { objective, series: ["val/acc"], best: { value: 0.875, run: 7 } };
  listing([anExperiment({ ...program, diverged: 2 })]);
  openPage("/");
  const row = (await screen.findByRole("link", { name: "a grid" })).closest("li");
  expect(row).toHaveTextContent("0.8750 best val/acc");
  expect(row).toHaveTextContent("2 diverged");
});

test("an experiment that minimizes a loss has its least value as the headline", async () => {
  const objective = { metric: "val_loss", goal: "min", value: "best" } as const;
  listing([anExperiment({ objective, series: ["val_loss", "val_acc"], best: { value: 0.25, run: 7 } })]);
  openPage("/");
  const row = (await screen.findByRole("link", { name: "a grid" })).closest("li");
  expect(row).toHaveTextContent("0.2500 best val_loss");
});

test("links lead to older experiments and back to the newest", async () => {
  listing([anExperiment()], 3);
  openPage("/");
  await userEvent.click(await screen.findByRole("link", { name: "Older" }));
  expect(await screen.findByRole("link", { name: "an old experiment" })).toBeVisible();
  await userEvent.click(screen.getByRole("link", { name: "Newest" }));
  expect(await screen.findByRole("link", { name: "a grid" })).toBeVisible();
});

test("the oldest experiments are one link away, and their pages go on to newer ones", async () => {
  const service = listing([anExperiment()], 3);
  openPage("/?tag=lars");
  await userEvent.click(await screen.findByRole("link", { name: "Oldest" }));
  await waitFor(() => {
    expect(service.requests.at(-1)).toContain("tag=lars&sort=id&limit=20");
  });
  expect(window.location.search).toBe("?tag=lars&oldest=true");
  await userEvent.click(await screen.findByRole("link", { name: "Newer" }));
  await waitFor(() => {
    expect(service.requests.some((one) => one.includes("sort=id&before=3"))).toBe(true);
  });
  expect(await screen.findByRole("link", { name: "an old experiment" })).toBeVisible();
  expect(screen.getByRole("link", { name: "Oldest" })).toHaveAttribute("href", "/?tag=lars&oldest=true");
  await userEvent.click(screen.getByRole("link", { name: "Newest" }));
  expect(window.location.search).toBe("?tag=lars");
});

test("an empty list shows the command that submits the first experiment", async () => {
  listing([]);
  openPage("/");
  expect(await screen.findByText("bigbatch submit recipes/first-run.yaml")).toBeVisible();
});

test("a banner reports an outage, the list remains, and the banner disappears after the outage", async () => {
  const service = listing([anExperiment()]);
  openPage("/");
  await screen.findByRole("link", { name: "a grid" });
  service.down = true;
  expect(await screen.findByText(/does not answer/)).toBeVisible();
  expect(screen.getByRole("link", { name: "a grid" })).toBeVisible();
  service.down = false;
  await waitFor(() => {
    expect(screen.queryByText(/does not answer/)).toBeNull();
  });
});

test("a banner reports a failing path while other paths answer, until the path recovers", async () => {
  const service = listing([anExperiment()]);
  service.broken.add("GET /clusters");
  openPage("/");
  await screen.findByText(/internal error/);
  const lists = () => service.requests.filter((request) => request.startsWith("GET /experiments?")).length;
  const before = lists();
  await waitFor(() => {
    expect(screen.getByText(/internal error/)).toBeVisible();
    expect(lists()).toBeGreaterThan(before + 1);
  });
  expect(screen.getByText(/internal error/)).toBeVisible();
  service.broken.clear();
  await waitFor(() => {
    expect(screen.queryByText(/internal error/)).toBeNull();
  });
});

test("the page requests the last points once more after the end", async () => {
  const service = listing([anExperiment()]);
  const pointRequests = () => service.requests.filter((each) => each.includes("/curves")).length;
  openPage("/");
  await screen.findByRole("link", { name: "a grid" });
  service.answers["GET /experiments"] = () => ({
    items: [anExperiment({ state: "done", counts: { done: 2 } })],
    next: null,
  });
  await screen.findByText("none active");
  const before = pointRequests();
  await waitFor(() => {
    expect(pointRequests()).toBe(before + 1);
  });
});

test("a cluster that does not answer shows its error and its last report", async () => {
  const service = listing([anExperiment()]);
  service.answers["GET /clusters"] = () => [
    {
      kind: "slurm",
      asked_at: "2026-01-05T12:00:00Z",
      error: "squeue: connection refused",
      report: { partitions: [aPartition()], nodes: [], queue: [] },
    },
  ];
  openPage("/");
  expect(await screen.findByRole("alert")).toHaveTextContent("squeue: connection refused");
  expect(screen.getByText("3 of 4 idle")).toBeVisible();
});

/** Return the heights of the points of the single path of a series. */
function heights(name: string, ...values: number[]) {
  const [path = ""] = pathsOfSeries(name, new Map([[1, curve(...values)]]));
  return path.match(/(?<= )[\d.-]+/g)?.map(Number);
}

test("accuracies that are shares lie between 0 and 1, and those of 90 to 95 fill the thumbnail", () => {
  expect(heights("heldout_accuracy", 0, 0.5, 1)).toEqual([34, 18, 2]);
  expect(heights("heldout_accuracy", 90, 92.5, 95)).toEqual([34, 18, 2]);
});
