import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import type { FieldName } from "@/shared/api/types";
import { csvText } from "@/shared/files/csv";
import { choicesAt, complete, placeAt, quotedName } from "@/shared/run-table/completion";
import { openPage } from "../testing/openPage";
import { aRun, Service, tableOf } from "../testing/service";

const NAMES: FieldName[] = [
  { name: "state", kind: "text", title: "state of the run", is_metric: false },
  { name: "batch", kind: "any", title: "field of the spec", is_metric: false },
  { name: "loss", kind: "number", title: "metric", is_metric: true },
];

const NO_CHOICE = { text: "", label: "", hint: "" };
const aRow = { ...aRun(), cells: [] };

function someRuns(count = 3) {
  const runs = Array.from({ length: count }, (_, index) =>
    aRun({
      id: index + 1,
      values: { batch: 64 * (index + 1), loss: 0.5 },
      state: index === 1 ? "failed" : "done",
    }),
  );
  return new Service({
    "GET /runs/names": () => ({ names: NAMES }),
    "GET /runs/values": () => ({ name: "state", values: ["done", "failed"], texts: ["done", "failed"] }),
    "GET /runs/table": (url) => {
      const known = url.searchParams
        .getAll("column")
        .filter((name) => NAMES.some((one) => one.name === name));
      if (url.searchParams.has("skip_unknown")) url.searchParams.delete("column");
      for (const name of known) url.searchParams.append("column", name);
      return tableOf(runs)(url);
    },
    "POST /runs/2/retry": () => ({ queued: [2], waiting: [], unchanged: [] }),
    "PATCH /runs/1": () => ({}),
    "PATCH /runs/2": () => ({}),
    "PATCH /runs/3": () => ({}),
  });
}

function tableRequests(service: Service): string[] {
  return service.requests.filter((request) => request.startsWith("GET /runs/table"));
}

test("the page shows the columns that any run has, and the number of all runs", async () => {
  const service = someRuns();
  openPage("/runs");
  const row = (await screen.findByRole("link", { name: "Run 2" })).closest("tr");
  expect(row).toHaveTextContent(/failed.*128/);
  expect(screen.getByText("3 runs")).toBeVisible();
  const titles = screen.getAllByRole("columnheader").map((heading) => heading.textContent);
  expect(titles).toEqual(["run", "state", "batch", "loss"]);
  // the names of the fields are not waited for, so the service leaves out what no run has
  expect(tableRequests(service)).toHaveLength(1);
  expect(tableRequests(service)[0]).toContain("column=duration&column=created&skip_unknown=true");
});

test("the table shows as soon as its rows are there, also before the names of the fields", async () => {
  const service = someRuns();
  let giveNames = () => undefined as unknown;
  const names = new Promise((resolve) => {
    giveNames = () => {
      resolve({ names: NAMES });
    };
  });
  service.answers["GET /runs/names"] = () => names;
  openPage("/runs");
  const row = (await screen.findByRole("link", { name: "Run 2" })).closest("tr");
  expect(row).toHaveTextContent(/failed.*128/);
  giveNames();
});

test("a heading sorts all runs at the service, and the address holds the order and the query", async () => {
  const service = someRuns();
  openPage("/runs?where=batch+>+64");
  await userEvent.click(await screen.findByRole("button", { name: "batch" }));
  await waitFor(() => {
    expect(tableRequests(service).at(-1)).toContain("where=batch > 64&sort=batch");
  });
  expect(await screen.findByRole("columnheader", { name: /batch/ })).toHaveAttribute(
    "aria-sort",
    "ascending",
  );
  expect(window.location.search).toContain("sort=batch");
  await userEvent.click(screen.getByRole("button", { name: /batch/ }));
  await waitFor(() => {
    expect(window.location.search).toContain("sort=-batch");
  });
});

test("the query is completed by names, operators and values, and sent at Enter", async () => {
  const service = someRuns();
  openPage("/runs");
  const field = await screen.findByRole("combobox", { name: "Query" });
  await userEvent.type(field, "sta");
  await userEvent.keyboard("{ArrowDown}{Enter}");
  expect(field).toHaveValue("state ");
  await userEvent.keyboard("= fa");
  await userEvent.click(await screen.findByRole("option", { name: "failed" }));
  expect(field).toHaveValue("state = failed ");
  await userEvent.keyboard("{Escape}{Enter}");
  await waitFor(() => {
    expect(tableRequests(service).at(-1)).toContain("where=state = failed");
  });
  expect(new URLSearchParams(window.location.search).get("where")).toBe("state = failed");
});

test("the error of a query is shown at its place", async () => {
  const service = someRuns();
  service.refused["GET /runs/table"] = {
    status: 422,
    detail: "the query is not valid",
    errors: [{ path: "where", message: "no run has a field 'bach'", start: 0, end: 4 }],
  };
  openPage("/runs?where=bach+>+3");
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("no run has a field 'bach'");
  expect(within(alert).getByText("bach")).toBeVisible();
  expect(screen.getByRole("combobox", { name: "Query" })).toHaveAttribute("aria-invalid", "true");
});

test("an action on a selection changes each of its runs, and a refusal names its run", async () => {
  const service = someRuns();
  service.refused["PATCH /runs/3"] = { status: 422, detail: "too many tags", errors: [] };
  openPage("/runs");
  await userEvent.click(await screen.findByRole("checkbox", { name: "Select run 1" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "Select run 3" }));
  expect(screen.getByRole("link", { name: "Show only these" })).toHaveAttribute(
    "href",
    "/runs?where=id+in+%281%2C+3%29",
  );
  await userEvent.click(screen.getByRole("button", { name: /Actions/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Add a tag…" }));
  await userEvent.type(screen.getByRole("textbox", { name: "Tag" }), "lars");
  await userEvent.click(screen.getByRole("button", { name: "Add the tag" }));
  expect(await screen.findByText("1 run tagged, 1 refused")).toBeVisible();
  expect(screen.getByText("run 3: too many tags")).toBeVisible();
  expect(service.bodies).toContain('PATCH /runs/1 {"add_tags":["lars"]}');
});

test("a stop and a deletion ask first", async () => {
  const service = someRuns();
  openPage("/runs");
  await userEvent.click(await screen.findByRole("checkbox", { name: "Select all runs of the query" }));
  await screen.findByText("3 runs selected");
  await userEvent.click(screen.getByRole("button", { name: /Actions/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Delete…" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Cancel" }));
  expect(service.requests.filter((request) => request.startsWith("DELETE"))).toEqual([]);
});

test("the deletion of a selection is undone as a whole", async () => {
  const service = someRuns();
  for (const id of [1, 3]) {
    service.answers[`GET /runs/${id}/size`] = () => ({
      confirm: `00000${id}`,
      blocked_by: [],
      undo_hours: 24,
    });
    service.answers[`DELETE /runs/${id}`] = () => ({ runs: 1, restorable_until: `2026-01-0${id}T12:00:00Z` });
    service.answers[`POST /runs/${id}/restore`] = () => ({ runs: 1 });
  }
  openPage("/runs");
  await userEvent.click(await screen.findByRole("checkbox", { name: "Select run 1" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "Select run 3" }));
  await userEvent.click(screen.getByRole("button", { name: /Actions/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Delete…" }));
  await userEvent.click(screen.getByRole("button", { name: "Delete 2 runs" }));
  expect(await screen.findByText(/2 runs are deleted\. The files stay until 1 Jan/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  await waitFor(() => {
    expect(service.requests).toContain("POST /runs/3/restore");
  });
  expect(service.requests).toContain("POST /runs/1/restore");
});

test("columns are chosen from all fields, and the address holds them", async () => {
  const service = someRuns();
  openPage("/runs");
  await userEvent.click(await screen.findByRole("button", { name: "Columns" }));
  await userEvent.type(screen.getByRole("searchbox", { name: "Find a field" }), "mean(");
  await userEvent.click(screen.getByRole("button", { name: "mean(loss)" }));
  await userEvent.click(screen.getByRole("button", { name: "Remove the column batch" }));
  expect(new URLSearchParams(window.location.search).get("columns")).toContain("mean(loss)");
  await waitFor(() => {
    expect(tableRequests(service).at(-1)).toContain("column=state");
    expect(tableRequests(service).at(-1)).toContain("column=mean(loss)");
    expect(tableRequests(service).at(-1)).not.toContain("column=batch");
  });
});

test("what may stand at the cursor follows from the words before it", () => {
  const kinds = [
    "",
    "st",
    "state ",
    "state = ",
    "state = f",
    "state = failed ",
    "a = 1 and ",
    "not (",
    "x in (",
    "x in (1) ",
  ];
  expect(kinds.map((text) => placeAt(text, text.length).kind)).toEqual([
    ...["name", "name", "operator", "value", "value", "joint", "name", "name", "value", "joint"],
  ]);
  const place = placeAt("owner = a and state = fa", 24);
  expect(place).toMatchObject({ kind: "value", field: "state", typed: "fa", start: 22 });
  const [choice] = choicesAt(place, NAMES, ["done", "failed", "half done"].map(plainly));
  expect(complete("owner = a and state = fa", place, choice ?? NO_CHOICE)).toEqual([
    "owner = a and state = failed ",
    29,
  ]);
  expect(choicesAt(placeAt("", 0), NAMES, []).map(({ label }) => label)).toEqual([
    "state",
    "batch",
    "best(loss)",
  ]);
});

const plainly = (label: string) => ({ label, text: label });

test("a value is completed as the service writes it, and a name of any signs in backticks", () => {
  const typed = 'x = "sa';
  const value = { label: 'say "hi"', text: '"say ""hi"""' };
  const [choice] = choicesAt(placeAt(typed, typed.length), NAMES, [value]);
  const [text, cursor] = complete(typed, placeAt(typed, typed.length), choice ?? NO_CHOICE);
  expect(text).toBe('x = "say ""hi""" ');
  expect(placeAt(text, cursor).kind).toBe("joint");
  const odd = { name: "a `b` c", kind: "number", title: "metric", is_metric: true };
  expect(choicesAt(placeAt("", 0), [odd], [])[0]?.text).toBe("best(`a ``b`` c`)");
  expect(quotedName("not")).toBe("`not`");
});

test("data of a picture quote texts, and disarm formulas", () => {
  expect(csvText([["w"], ['a "b", c', "=1+1", -2, null]])).toBe('w\n"a ""b"", c",\'=1+1,-2,\n');
});

test("scrolling asks for further pages alone", async () => {
  const service = someRuns(1);
  const answer = tableOf([aRun({ id: 1 })]);
  service.answers["GET /runs/table"] = (url) => {
    const offset = Number(url.searchParams.get("offset"));
    const [row = aRow] = answer(url).rows;
    return {
      ...answer(url),
      total: 10_000,
      rows: Array.from({ length: 100 }, (_, at) => ({ ...row, id: offset + at + 1 })),
    };
  };
  openPage("/runs");
  await screen.findByRole("link", { name: "Run 1" });
  expect(screen.getAllByRole("row").length).toBeLessThan(80);
  const scroller = screen.getByRole("region", { name: "Runs" });
  scroller.scrollTop = 37 * 5000;
  scroller.dispatchEvent(new Event("scroll"));
  expect(await screen.findByRole("link", { name: "Run 5003" })).toBeVisible();
  await vi.waitFor(() => {
    expect(tableRequests(service).at(-1)).toContain("offset=5000");
  });
});
