import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { LineagePicture } from "@/features/experiment-page/search/LineagePicture";
import { TrialTable } from "@/features/experiment-page/search/TrialTable";
import type { SearchDetail, TrialView } from "@/shared/api/types";

function aGeneration(number: number, lineage: TrialView["lineage"], value: number | null): TrialView {
  const ended = value === null ? null : "2026-01-05T12:00:41Z";
  return {
    number,
    params: { "schedule.rate": 0.1 },
    status: value === null ? "running" : "done",
    value,
    rungs: [],
    bracket: 0,
    lineage,
    run_ids: [number + 40],
    message: null,
    asked_at: "2026-01-05T12:00:00Z",
    ended_at: ended,
  };
}

function aPopulation(trials: TrialView[]): SearchDetail {
  const rate = { kind: "log_uniform", low: 0.01, high: 1, only_if: {} } as const;
  return {
    experiment_id: 3,
    status: "running",
    end_cause: null,
    spec: {
      space: { "schedule.rate": rate },
      sampler: { kind: "population", seed: 0, members: 2, share: 0.5, factors: [0.8, 1.2], resample: 0.25 },
      metric: "heldout_accuracy",
      value: "last",
      goal: null,
      trials: 4,
      at_once: 2,
      repeats: null,
      early_stopping: { kind: "none" },
      budget: null,
    },
    maximizes: true,
    wanted: 4,
    counts: { done: 3, running: 1 },
    used_rank_hours: 0.1,
    resources: [[]],
    best: null,
    best_so_far: [],
    importance: {},
    trials,
  };
}

const GENERATIONS = [
  aGeneration(0, { member: 0, generation: 0, parent: null, copied: false }, 0.9),
  aGeneration(1, { member: 1, generation: 0, parent: null, copied: false }, 0.5),
  aGeneration(2, { member: 1, generation: 1, parent: 0, copied: true }, 0.92),
  aGeneration(3, { member: 0, generation: 1, parent: 0, copied: false }, null),
];

test("the picture draws each generation with a value, and says whose weights a member copied", () => {
  render(<LineagePicture search={aPopulation(GENERATIONS)} />);
  const picture = screen.getByRole("img", { name: /which member copied which/ });
  expect(
    within(picture).getByText("Trial 2, member 1, generation 1, weights of member 0: 92.00%"),
  ).toBeTruthy();
  expect(picture.querySelectorAll("circle")).toHaveLength(3);
  expect(picture.querySelectorAll("line[class*=copyLine]")).toHaveLength(1);
});

test("without a value there is a sentence in the place of the picture", () => {
  render(<LineagePicture search={aPopulation(GENERATIONS.slice(3))} />);
  expect(screen.getByText("No generation has a value yet.")).toBeTruthy();
});

test("the table of trials names the member, its generation and the member that it copies", () => {
  render(<TrialTable search={aPopulation(GENERATIONS)} />);
  const [head, best, , , last] = screen.getAllByRole("row");
  expect(head).toHaveTextContent("Member");
  expect(best).toHaveTextContent("1, generation 1, copies member 0");
  expect(last).toHaveTextContent("0, generation 1");
});
