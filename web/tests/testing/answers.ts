/** Answers of experiments, as the service sends them. */
import type { Answer, AnswerFigure, AnswerGroup, FigureSpread } from "@/shared/api/types";

export const ACCURACY: AnswerFigure = {
  name: "best(heldout_accuracy)",
  title: "best held-out accuracy",
  unit: "share",
  higher_is_better: true,
};
export const STEP: AnswerFigure = {
  name: "step_s",
  title: "time of a step",
  unit: "seconds",
  higher_is_better: false,
};

export function aSpread(mean: number, deviation: number | null = null, count = 1): FigureSpread {
  return { count, mean, deviation, least: mean, most: mean };
}

export function aGroup(change: Partial<AnswerGroup> = {}): AnswerGroup {
  return {
    label: "",
    x: null,
    y: null,
    runs: [10],
    done: 1,
    diverged: 0,
    is_preliminary: false,
    figure: aSpread(0.9),
    accuracy: aSpread(0.9),
    parts: {},
    to_target: null,
    speedup: null,
    refusals: [],
    ...change,
  };
}

export function anAnswer(change: Partial<Answer> = {}): Answer {
  return {
    picture: "single",
    sentence: "The best held-out accuracy of run 10 is 90.00 %.",
    figure: ACCURACY,
    figures: [ACCURACY, STEP],
    over: null,
    x: null,
    y: null,
    groups: [aGroup()],
    target: null,
    baseline: null,
    diverged: 0,
    failed: 0,
    archived: 0,
    left_out: [],
    unfinished: 0,
    notes: [],
    ...change,
  };
}
