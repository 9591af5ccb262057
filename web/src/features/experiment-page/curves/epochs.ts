/** Steps as epochs: runs of unlike batch sizes take unlike steps through the same data. */
import { useMemo } from "react";
import type { Column, ExperimentDetail, RunView } from "@/shared/api/types";

/** Steps per epoch of every run. */
export function useStepsPerEpoch(experiment: ExperimentDetail, runs: RunView[]): ReadonlyMap<number, number> {
  const { epochs } = experiment.spec.base;
  const told = JSON.stringify(runs.map((run) => [run.id, run.steps / (epochsOf(run) ?? epochs)]));
  return useMemo(() => new Map(JSON.parse(told) as [number, number][]), [told]);
}

export function inEpochs(column: Column, stepsPerEpoch = 1): Column {
  return { steps: column.steps.map((step) => step / stepsPerEpoch), values: column.values };
}

/** The epochs of a run whose experiment varies them. */
function epochsOf(run: RunView): number | undefined {
  const own = run.values.epochs;
  return typeof own === "number" ? own : undefined;
}
