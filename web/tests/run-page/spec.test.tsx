import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { specLines } from "@/features/run-page/texts/SpecPanel";
import type { RunDetail } from "@/shared/api/types";
import { openPage } from "../testing/openPage";
import { anExperiment, aProgram, aRunDetail, Service } from "../testing/service";

test("the lines of a spec are YAML with the same values", () => {
  const spec = {
    kind: "program",
    command: "python train.py --lr {lr}",
    parameters: {
      sha: "25921e05",
      day: "08",
      flag: "true",
      on: "no",
      none: "~",
      minus: "-",
      lr: 0.1,
      list: [1, "2"],
    },
    resources: { kind: "local", ranks_per_node: 2 },
  };
  const text = specLines(spec, new Set())
    .map(({ depth, key, value }) => `${"  ".repeat(depth)}${key}: ${value}\n`)
    .join("");
  expect(parse(text)).toEqual(spec);
  expect(parse(text, { version: "1.1" })).toEqual(spec);
  expect(text).toContain("kind: program\n");
});

function run(spec: RunDetail["spec"]) {
  new Service({
    "GET /runs/7": () => aRunDetail({ spec }),
    "GET /runs/7/curves": () => ({ series: {} }),
    "GET /runs/7/log": () => ({ text: "", offset: 0, next: 0, size: 0 }),
    "GET /experiments/3": () => anExperiment(),
  });
  openPage("/runs/7");
}

test("the command that reproduces a run is copied with a click", async () => {
  const user = userEvent.setup(); // with a clipboard
  run(aProgram({ code: "0123456789abcdef".repeat(4) }));
  const panel = within(await screen.findByRole("region", { name: "Reproduce this run" }));
  expect(panel.getByText("0123456789ab")).toBeVisible();
  await user.click(panel.getByRole("button", { name: "Copy bigbatch rerun 7" }));
  expect(await navigator.clipboard.readText()).toBe("bigbatch rerun 7");
  expect(panel.getByRole("status")).toHaveTextContent("The command is copied");
});

test("a program without a code snapshot is as its folder has it", async () => {
  run(aProgram());
  const panel = await screen.findByRole("region", { name: "Reproduce this run" });
  expect(panel).toHaveTextContent("The run has no code snapshot: the program is as its folder has it then.");
});

test("a run that this service did not carry out has no command", async () => {
  run({ kind: "recorded", source: "mlflow" } as unknown as RunDetail["spec"]);
  expect(await screen.findByRole("region", { name: "Compare with another run" })).toBeVisible();
  expect(screen.queryByRole("region", { name: "Reproduce this run" })).toBeNull();
});
