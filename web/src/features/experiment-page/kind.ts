/** The kind of an experiment's runs. */
import type { ExperimentDetail } from "@/shared/api/types";

export type Kind = "engine" | "program" | "recorded" | "steps";

/** Return the kind of the base run; "steps" of a workflow whose steps may have different kinds. */
export function kindOf({ spec }: ExperimentDetail): Kind {
  return spec.base ? spec.base.kind : "steps";
}
