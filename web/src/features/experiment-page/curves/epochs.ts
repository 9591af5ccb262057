/** Steps as epochs: runs with different batch sizes need different numbers of steps for the same data. */
import { useMemo } from "react";
import type { Column, ExperimentDetail, RunView } from "@/shared/api/types";

/** Return the steps per epoch of each run. */
export function useStepsPerEpoch(experiment: ExperimentDetail, runs: RunView[]): ReadonlyMap<number, number> {
  const { base } = experiment.spec;
  const epochs = base.kind === "program" ? 1 : base.epochs; // the steps of a program form no epochs
  const serialized = JSON.stringify(runs.map((run) => [run.id, run.steps / (epochsOf(run) ?? epochs)]));
  return useMemo(() => new Map(JSON.parse(serialized) as [number, number][]), [serialized]);
}

export function inEpochs(column: Column, stepsPerEpoch = 1): Column {
  return { steps: column.steps.map((step) => step / stepsPerEpoch), values: column.values };
}

/** Return the epochs of a run whose experiment varies them. */
function epochsOf(run: RunView): number | undefined {
  const own = run.values.epochs;
  return typeof own === "number" ? own : undefined;
}
