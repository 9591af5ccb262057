import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { ComparedCurve, RunComparison, TableColumn, TableRow } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { aRun, Service } from "../testing/service";

const RATES = [0.1, 0.1, 0.2, 0.2];
const LOSSES = [0.5, 0.7, 0.2, 0.4];
const ACCURACIES = [0.9, 0.92, 0.95, 0.85];

function comparison(change: Partial<RunComparison> = {}): RunComparison {
  return {
    runs: [1, 2, 3, 4],
    spec: [
      { path: "schedule.rate", choices: [0.1, 0.2], places: [0, 0, 1, 1] },
      { path: "seed", choices: [0, 1], places: [0, 1, 0, 1] },
    ],
    code: { path: "code", choices: ["ab".repeat(32), null], places: [0, 0, 0, 1] },
    environment: [],
    environment_note: "no run has a record of its environment",
    metrics: [
      { name: "loss", runs: 4, is_better_when_higher: false },
      { name: "heldout_accuracy", runs: 4, is_better_when_higher: true },
    ],
    ...change,
  };
}

function valueOf(field: string, at: number) {
  if (field === "schedule.rate") return RATES[at] ?? null;
  if (field === "best(heldout_accuracy)") return ACCURACIES[at] ?? null;
  if (field.endsWith("(loss)")) return LOSSES[at] ?? null;
  return field === "duration" ? 100 * (at + 1) : null;
}

function table(url: URL) {
  const names = url.searchParams.getAll("column");
  const columns: TableColumn[] = names.map((name) => {
    const metric = /\((.+)\)/.exec(name)?.[1] ?? null;
    return { name, kind: name === "duration" ? "duration" : metric === null ? "any" : "number", metric };
  });
  const rows: TableRow[] = [0, 1, 2, 3].map((at) => ({
    ...aRun({ id: at + 1, state: "done" }),
    cells: names.map((name) => valueOf(name, at)),
  }));
  return { total: 4, offset: 0, columns, rows };
}

function curve(run_id: number): ComparedCurve {
  const mean = [4, 2, 1].map((value) => value + run_id / 10);
  const facts = { run_id, width: 1, last_step: 3, devices: 1, restarts: [] };
  return { ...facts, steps: [1, 2, 3], mean, min: null, max: null, not_finite: [] };
}

function aService(found = comparison()) {
  return new Service({
    "GET /runs/comparison": () => found,
    "GET /runs/table": table,
    "GET /runs/curves": (url) => ({
      name: url.searchParams.get("name") ?? "",
      curves: url.searchParams.getAll("run").map((id) => curve(Number(id))),
    }),
  });
}

test("chosen runs are compared in few requests: what differs, their figures, and one for each metric", async () => {
  const service = aService();
  openPage("/compare?runs=1,2,3,4");
  const differences = await screen.findByRole("region", { name: "Differences" });
  expect(within(differences).getByText("schedule.rate").closest("tr")).toHaveTextContent(
    /0.1.*0.1.*0.2.*0.2/,
  );
  expect(differences).toHaveTextContent("abababababab");
  expect(differences).toHaveTextContent("No run has a record of its environment.");
  const best = screen.getByRole("region", { name: "Best values" });
  const rows = within(best).getAllByRole("row");
  expect(rows[1]).toHaveTextContent(/rate 0.2.*2.*0.3000 ± 0.1414.*0.2000.*Run 3/);
  expect(rows[2]).toHaveTextContent(/rate 0.1.*2.*0.6000 ± 0.1414.*0.5000.*Run 1/);
  expect(await screen.findByRole("region", { name: "Training loss by step" })).toBeVisible();
  const asked = service.requests.map((request) => request.split("?")[0]);
  expect(asked.filter((path) => path === "GET /runs/comparison")).toHaveLength(1);
  expect(asked.filter((path) => path === "GET /runs/curves")).toHaveLength(2);
  expect(asked.filter((path) => path === "GET /runs/table")).toHaveLength(1);
});

test("the options, the order and the number of panels are in the address", async () => {
  aService();
  openPage("/compare?runs=1,2,3,4");
  const curves = await screen.findByRole("region", { name: "Training loss by step" });
  await userEvent.click(within(curves).getByRole("switch", { name: "log y" }));
  await userEvent.click(screen.getByRole("button", { name: "Move Training loss by step down" }));
  await userEvent.click(screen.getByRole("button", { name: "Add a panel" }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Box plot" }));
  const kinds = () => new URLSearchParams(window.location.search).getAll("panel");
  expect(kinds()).toEqual([
    "kind=curves&metric=heldout_accuracy",
    "kind=curves&metric=loss&ylog=on",
    "kind=box",
  ]);
  expect(await screen.findByRole("region", { name: "Best training loss by group" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Remove Held-out accuracy by step" }));
  expect(kinds()).toHaveLength(2);
});

test("the keyboard reads the points of each line", async () => {
  aService();
  openPage("/compare?runs=1,2,3,4&panel=kind%3Dcurves");
  const panel = await screen.findByRole("region", { name: "Training loss by step" });
  const slider = await within(panel).findByRole("slider");
  slider.focus();
  await userEvent.keyboard("{End}");
  expect(within(panel).getByTestId("readout")).toHaveTextContent("Run 1 (rate 0.1): 1.100 at step 3");
  await userEvent.keyboard("{ArrowDown}{ArrowLeft}");
  expect(slider).toHaveAttribute("aria-valuetext", "Run 2 (rate 0.1): 2.200 at step 2");
});

test("a zoom is in the address, and asks for the steps of the part alone", async () => {
  const service = aService();
  openPage("/compare?runs=1,2,3,4&panel=kind%3Dcurves");
  const panel = await screen.findByRole("region", { name: "Training loss by step" });
  const slider = await within(panel).findByRole("slider");
  slider.focus();
  await userEvent.keyboard("{End}+");
  await waitFor(() => {
    expect(service.requests.at(-1)).toMatch(/name=loss&buckets=\d+&from=0&to=5$/);
  });
  const shown = () => new URLSearchParams(window.location.search).get("panel");
  expect(shown()).toBe("kind=curves&from=1.5&to=3");
  await userEvent.keyboard("{Shift>}{ArrowLeft}{/Shift}");
  expect(shown()).toBe("kind=curves&from=1.125&to=2.625");
  await userEvent.keyboard("-");
  expect(shown()).toBe("kind=curves");
  await userEvent.keyboard("+");
  // a drag with Shift moves the range; the address follows once the pointer rests
  fireEvent.mouseDown(slider, { shiftKey: true, button: 0, clientX: 0 });
  fireEvent.mouseMove(window, { clientX: 100 });
  fireEvent.mouseUp(window);
  expect(shown()).toBe("kind=curves&from=1.5&to=3");
  await waitFor(() => {
    expect(shown()).toBe("kind=curves&from=0&to=1.5");
  });
  await userEvent.click(within(panel).getByRole("button", { name: "Reset zoom" }));
  expect(new URLSearchParams(window.location.search).get("panel")).toBe("kind=curves");
});

test("the legend hides a group everywhere, and another field groups the runs anew", async () => {
  aService();
  openPage("/compare?runs=1,2,3,4");
  const legend = await screen.findByRole("list", { name: "Legend" });
  await userEvent.click(within(legend).getByRole("button", { name: /rate 0.2/ }));
  const best = screen.getByRole("region", { name: "Best values" });
  expect(within(best).getAllByRole("row")).toHaveLength(2);
  await userEvent.click(screen.getByRole("button", { name: "Do not group by schedule.rate" }));
  expect(await within(legend).findByRole("button", { name: /^Run 1: / })).toBeVisible();
  expect(new URLSearchParams(window.location.search).getAll("group")).toEqual([""]);
});

test("a scatter plot has a Pareto front, and counts the runs that it leaves out", async () => {
  aService();
  openPage("/compare?runs=1,2,3,4&panel=kind%3Dscatter%26y%3Dbest(heldout_accuracy)");
  const panel = await screen.findByRole("region", { name: "Best held-out accuracy against duration" });
  const slider = within(panel).getByRole("slider");
  slider.focus();
  await userEvent.keyboard("{ArrowRight}");
  expect(within(panel).getByTestId("readout")).toHaveTextContent(
    "Run 1 (rate 0.1): best held-out accuracy 90.00%, duration 1 min 40 s, on the front",
  );
  await userEvent.keyboard("{ArrowLeft}");
  expect(within(panel).getByTestId("readout")).not.toHaveTextContent("on the front");
});

test("a page without runs offers a way to choose some", async () => {
  aService();
  openPage("/compare");
  expect(await screen.findByText("No runs are chosen")).toBeVisible();
  await userEvent.type(screen.getByRole("textbox", { name: "Add runs" }), "1, 2 3,4{Enter}");
  await waitFor(() => {
    expect(window.location.search).toBe("?runs=1%2C2%2C3%2C4");
  });
  expect(await screen.findByText("4 runs of 1 experiment")).toBeVisible();
});

test("runs of a query are compared", async () => {
  const service = aService();
  openPage("/compare?where=batch+>+64");
  expect(await screen.findByText("4 runs of 1 experiment")).toBeVisible();
  expect(service.requests.find((request) => request.startsWith("GET /runs/table"))).toBe(
    "GET /runs/table?where=batch > 64&limit=500",
  );
});

test("an error of the service is shown in its own words", async () => {
  const service = aService();
  service.refused["GET /runs/comparison"] = {
    status: 404,
    detail: "there is none of these runs",
    errors: [],
  };
  openPage("/compare?runs=99");
  expect(await screen.findByText("There is none of these runs")).toBeVisible();
});

test("the data of a panel are saved as CSV", async () => {
  aService();
  const saved: Blob[] = [];
  URL.createObjectURL = (content: Blob) => {
    saved.push(content);
    return "blob:x";
  };
  URL.revokeObjectURL = () => undefined;
  HTMLAnchorElement.prototype.click = () => undefined;
  openPage("/compare?runs=1,2,3,4&panel=kind%3Dbars%26field%3Dbest(loss)");
  const panel = await screen.findByRole("region", { name: "Mean of best training loss by group" });
  await userEvent.click(within(panel).getByRole("button", { name: /Download/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Data as CSV" }));
  const [content = new Blob()] = saved;
  expect(await textOf(content)).toContain("group,runs,mean,deviation\nrate 0.1,2,0.6,");
});

/** jsdom's files have no text(). */
function textOf(content: Blob): Promise<unknown> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => {
      resolve(reader.result);
    };
    reader.readAsText(content);
  });
}
