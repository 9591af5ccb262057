/** An experiment as its page shows it: of a workflow the chosen step, which the address holds. */
import type { ExperimentDetail } from "@/shared/api/types";
import { changeAddress, useAddress } from "@/shared/page/address";

/** An experiment as its page shows it: of a workflow with the base, the axes and the variants of the chosen step. */
export type ShownExperiment = ExperimentDetail & { step: string | null };

/** The chosen step of a workflow, which the address holds, and that step as an experiment of its own. */
export function useStep(experiment: ExperimentDetail): [ShownExperiment, (name: string | null) => void] {
  const name = useAddress().get("step");
  return [asStep(experiment, name), chooseStep];
}

function chooseStep(name: string | null): void {
  changeAddress({ step: name ?? "" });
}

function asStep(experiment: ExperimentDetail, name: string | null): ShownExperiment {
  const { spec } = experiment;
  const step = "steps" in spec ? spec.steps.find((one) => one.name === name) : undefined;
  if (!step) return { ...experiment, step: null };
  const { axes, variants, over } = step;
  const lists = Object.fromEntries(Object.keys(over).map((path) => [path, []]));
  // the fields of the base are those of a run, as far as the step writes them
  const base = step.base as unknown as ExperimentDetail["spec"]["base"];
  const shown = { ...spec, base, axes: { ...axes, ...lists }, variants } as ExperimentDetail["spec"];
  return { ...experiment, spec: shown, step: step.name };
}

/** The kind of an experiment's runs. */
export type Kind = "engine" | "program" | "recorded" | "steps";

/** Return the kind of the base run; "steps" of a workflow whose steps may have different kinds. */
export function kindOf({ spec }: ExperimentDetail): Kind {
  return spec.base ? spec.base.kind : "steps";
}
