import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { openPage } from "./testing/openPage";
import { anExperiment, aRun, Service } from "./testing/service";

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
