import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Axis } from "@/features/experiment-page/axes";
import { groupRuns } from "@/features/experiment-page/runs/SpreadTable";
import type { RunView } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aRun, Service } from "../testing/service";

const SGD = { kind: "sgd" };
const LARS = { kind: "lars" };

function run(
  number: number,
  values: RunView["values"],
  accuracy: number,
  change: Partial<RunView> = {},
): RunView {
  return aRun({
    id: 10 + number,
    number,
    values,
    state: "done",
    latest: { heldout_accuracy: accuracy, loss: 1 - accuracy },
    objective_value: accuracy + 0.01,
    ...change,
  });
}

function open(runs: RunView[]) {
  const experiment = anExperiment();
  const base = { epochs: 2, optimizer: { kind: "sgd", momentum: 0.9 }, seed: 0 };
  const axes = { optimizer: [SGD, LARS], seed: [0, 1] };
  new Service({
    "GET /experiments/3": () =>
      anExperiment({ spec: { ...experiment.spec, base, axes } as unknown as typeof experiment.spec }),
    "GET /experiments/3/runs": () => ({ items: runs, next: null }),
    "GET /experiments/3/curves": () => ({ name: "loss", curves: [] }),
    "GET /experiments/3/checkpoints": () => [],
  });
  openPage("/experiments/3");
}

test("the page shows mean and deviation over the seeds, of the runs that are done", async () => {
  open([
    run(0, { optimizer: SGD, seed: 0 }, 0.9),
    run(1, { optimizer: SGD, seed: 1 }, 0.94),
    run(2, { optimizer: LARS, seed: 0 }, 0.5),
    run(3, { optimizer: LARS, seed: 1 }, 0.1, { state: "running" }),
  ]);
  const table = await screen.findByRole("region", { name: "Mean and deviation" });
  const [, sgd, lars] = within(table).getAllByRole("row");
  expect(sgd).toHaveTextContent(/^sgd2 of 2/);
  expect(sgd).toHaveTextContent("92.00% ± 2.83%");
  expect(sgd).toHaveTextContent("93.00% ± 2.83%");
  expect(lars).toHaveTextContent(/^lars1 of 2/);
  expect(lars).toHaveTextContent("50.00%");
  expect(lars).not.toHaveTextContent("±");
});

test("a run that was added without a value at an axis shows that of the base", async () => {
  open([run(0, { optimizer: LARS, seed: 0 }, 0.9), run(1, { seed: 7 }, 0.8)]);
  const row = (await screen.findByRole("link", { name: "Run 11" })).closest("tr");
  expect(row).toHaveTextContent(/Run 11sgd7/);
});

test('runs of 1 and "1" at an axis are two groups with texts of their own', () => {
  const axis = (path: string, values: unknown[]) => ({ path, name: path, values }) as unknown as Axis;
  const [size, seed] = [axis("size", [1, "1"]), axis("seed", [0, 1])];
  const runs = [1, "1"].flatMap((one, at) =>
    [0, 1].map((two) => run(2 * at + two, { size: one, seed: two }, 0.9)),
  );
  const groups = groupRuns(runs, [size, seed], seed);
  expect(groups.map(({ values, runs }) => [values[0], runs])).toEqual([
    ["1", 2],
    ['"1"', 2],
  ]);
});

test("the table of a program marks the run with the best value of the objective, which the headline names", async () => {
  const objective = { metric: "val_loss", goal: "min", value: "best" } as const;
  const base = { kind: "program", command: "python train.py", environment: {}, resources: {} };
  const spec = { base, axes: {}, variants: [], name: "a sweep" } as never;
  new Service({
    "GET /experiments/3": () => anExperiment({ spec, objective, best: { value: 0.25, run: 11 }, runs: 2 }),
    "GET /experiments/3/runs": () => ({
      items: [
        aRun({ id: 10, latest: { val_loss: 0.5 }, objective_value: 0.375 }),
        aRun({ id: 11, latest: { val_loss: 0.75 }, objective_value: 0.25 }),
      ],
      next: null,
    }),
    "GET /experiments/3/curves": () => ({ name: "val_loss", curves: [] }),
  });
  openPage("/experiments/3?tab=curves");
  const row = (await screen.findByRole("link", { name: "Run 11" })).closest("tr");
  expect(row).toHaveTextContent(/0\.7500best: 0\.2500$/);
  expect(screen.getByRole("link", { name: "Run 10" }).closest("tr")).toHaveTextContent(/0\.50000\.3750$/);
  expect(screen.getByText("best val_loss").parentElement).toHaveTextContent("0.2500");
  await userEvent.click(screen.getByRole("button", { name: /Best val_loss/ }));
  expect(window.location.search).toContain("sort=min%28val_loss%29");
});
