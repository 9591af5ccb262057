import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { RunDifferences } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aRunDetail, Service } from "../testing/service";

const DIFF = "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-lr = 0.1\n+lr = 0.2\n";

function differences(change: Partial<RunDifferences> = {}): RunDifferences {
  return {
    run: 7,
    other: 9,
    spec: [{ path: "parameters.lr", first: 0.1, second: 0.2 }],
    code: {
      total: 3,
      files: [
        { path: "train.py", change: "changed", diff: DIFF, note: null },
        { path: "weights.bin", change: "added", diff: null, note: "no text" },
      ],
    },
    code_note: null,
    environment: [{ path: "packages.torch", first: "2.8.0", second: null }],
    environment_note: null,
    ...change,
  };
}

function service(found: RunDifferences = differences()) {
  return new Service({
    "GET /runs/7": () => aRunDetail(),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
    "GET /runs/7/differences": () => found,
  });
}

async function compare(run: string) {
  openPage("/runs/7");
  const panel = await screen.findByRole("region", { name: "Compare with another run" });
  await userEvent.type(within(panel).getByLabelText("Run"), run);
  return panel;
}

test("the panel shows the differences of spec, code and environment with the run that the user names", async () => {
  const { requests } = service();
  const panel = await compare("9{Enter}");
  const spec = await within(panel).findByRole("table", { name: "Differences of the specs" });
  const rows = within(spec).getAllByRole("row");
  expect(rows.map((row) => row.textContent)).toEqual(["FieldRun 7Run 9", "parameters.lr0.10.2"]);
  expect(within(panel).getByLabelText("Differences of train.py")).toHaveTextContent("-lr = 0.1 +lr = 0.2");
  expect(panel).toHaveTextContent("weights.bin added: no text");
  expect(panel).toHaveTextContent("1 more file");
  const environment = within(panel).getByRole("table", { name: "Differences of the environments" });
  expect(environment).toHaveTextContent("packages.torch2.8.0none");
  expect(requests).toContain("GET /runs/7/differences?other=9");
});

test("nothing is requested before a run is named, and only a number is accepted", async () => {
  const { requests } = service();
  const panel = await compare("x9");
  expect(within(panel).getByRole("button", { name: "Compare" })).toBeDisabled();
  expect(requests.filter((request) => request.includes("differences"))).toEqual([]);
});

test("what cannot be compared is said", async () => {
  service(
    differences({
      spec: [],
      code: null,
      code_note: "both runs have the same code",
      environment: [],
      environment_note: "run 7 has no record of its environment",
    }),
  );
  const panel = await compare("9{Enter}");
  expect(await within(panel).findByText("Both runs have the same code.")).toBeInTheDocument();
  expect(panel).toHaveTextContent("No difference.");
  expect(panel).toHaveTextContent("Run 7 has no record of its environment.");
});

test("a run that does not exist is named by the service", async () => {
  const fake = service();
  fake.refused["GET /runs/7/differences"] = { status: 404, detail: "there is no run 9", errors: [] };
  const panel = await compare("9{Enter}");
  expect(await within(panel).findByText(/there is no run 9/)).toBeInTheDocument();
});
