/** The keys of all queries: the cache, the updates and the invalidations use the same ones. */
import type { QueryKey } from "@tanstack/react-query";
import type { Target } from "./target";

export const keys = {
  readiness: (): QueryKey => ["readiness"],
  clusters: (): QueryKey => ["clusters"],
  collectivePrices: (network: object): QueryKey => ["collective-prices", network],
  collectivePlan: (collective: object | undefined, hosts: number, ranksPerHost: number): QueryKey => [
    "collective-plan",
    collective,
    hosts,
    ranksPerHost,
  ],
  experimentLists: (): QueryKey => ["experiments"],
  experimentList: (filter: object): QueryKey => [...keys.experimentLists(), filter],
  experiment: (id: number): QueryKey => ["experiment", id],
  experimentName: (id: number): QueryKey => ["experiment", id, "name"],
  experimentRuns: (id: number): QueryKey => ["experiment", id, "runs"],
  experimentAnswer: (id: number, choice: object): QueryKey => ["experiment", id, "answer", choice],
  experimentSeries: (id: number, name: string): QueryKey => ["experiment", id, "points", name],
  experimentCurves: (id: number, name: string, restarts: number, view: readonly unknown[]): QueryKey => [
    ...keys.experimentSeries(id, name),
    restarts,
    ...view,
  ],
  size: (target: Target): QueryKey => [target.kind, target.id, "size"],
  checkpointAdvice: (id: number): QueryKey => ["checkpoint-advice", id],
  runTables: (): QueryKey => ["run-table"],
  runTable: (asked: object, offset: number): QueryKey => [...keys.runTables(), asked, offset],
  fieldNames: (): QueryKey => ["run-fields"],
  fieldValues: (name: string): QueryKey => ["run-fields", name],
  run: (id: number): QueryKey => ["run", id],
  runPoints: (id: number): QueryKey => ["run", id, "points"],
  attemptCurves: (id: number, attempt: number, view: readonly unknown[]): QueryKey => [
    ...keys.runPoints(id),
    attempt,
    ...view,
  ],
  runLog: (id: number): QueryKey => ["run", id, "log"],
  runDifferences: (id: number, other: number | null): QueryKey => ["run", id, "differences", other],
  runStacks: (id: number, attempt: number): QueryKey => ["run", id, "stacks", attempt],
  runRankTimes: (id: number): QueryKey => ["run", id, "rank-times"],
};

/** Return whether `key` starts with `prefix`; the parts of both are strings and numbers. */
export function hasPrefix(key: QueryKey | undefined, prefix: QueryKey): boolean {
  return key !== undefined && prefix.every((part, index) => key[index] === part);
}
