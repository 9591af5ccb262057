/** What a request is about: a run or an experiment. */
export interface Target {
  kind: "run" | "experiment";
  id: number;
}

/** Return "run 12". */
export function targetText({ kind, id }: Target): string {
  return `${kind} ${id}`;
}
