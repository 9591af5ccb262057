/** Which queries a change concerns, and how often each may be asked again. */
import type { QueryKey } from "@tanstack/react-query";
import type { ChangedItems } from "./stream";

const SOON_MS = 200; // several changes of a moment are one request
const STEPS_MS = 1000; // the steps and newest values of a run
const SUMMARY_MS = 2000; // the same of many runs, and times of ranks
const SLOW_MS = 5000; // answers that change with evaluations, and stacks

const REPORTED = new Set([
  "run",
  "experiment",
  "experiments",
  "run-table",
  "run-groups",
  "compared-curves",
  "compared-runs",
]);

const FILES = new Set(["log", "stacks"]); // parts of a run's key

type Changed = Pick<ChangedItems["runs"][number], "has_points" | "has_details">;

/** Return how many milliseconds are between two requests of a query at least; null if the change does not concern it. */
export function intervalOf(key: QueryKey, items: ChangedItems): number | null {
  const [kind, id, part] = key;
  if (kind === "run") return ofRun(part, joined(items.runs.filter((run) => run.id === id)));
  if (kind === "experiment") {
    const changed = joined(items.runs.filter((run) => run.experiment_id === id));
    return ofExperiment(
      part,
      items.experiments.includes(Number(id)) ? { ...changed, has_details: true } : changed,
    );
  }
  if (kind === "compared-curves" || kind === "compared-runs") return ofComparison(kind, id, items);
  return ofLists(kind, items);
}

/** Lists and groups of all runs. */
function ofLists(kind: unknown, items: ChangedItems): number | null {
  if (!items.experiments.length && !items.runs.length) return null;
  if (kind === "run-groups") return SLOW_MS;
  return kind === "experiments" || kind === "run-table" ? SUMMARY_MS : null;
}

/** Return whether a query shows what streams report. */
export function isReported(key: QueryKey): boolean {
  return REPORTED.has(String(key[0]));
}

/** Return whether events `change` report all that a query shows; logs and stacks are files. */
export function isOfChanges(key: QueryKey): boolean {
  return isReported(key) && !FILES.has(String(key[2]));
}

/** Curves or figures of chosen runs, which their key names. */
function ofComparison(kind: string, ids: unknown, { runs }: ChangedItems): number | null {
  const shown = joined(runs.filter(({ id }) => Array.isArray(ids) && ids.includes(id)));
  if (kind === "compared-curves") return shown.has_points ? SUMMARY_MS : null;
  return ofAnything(shown, SUMMARY_MS);
}

function ofRun(part: unknown, changed: Changed): number | null {
  if (part === undefined) return ofDetails(changed, STEPS_MS);
  if (part === "points") return changed.has_points ? SOON_MS : null;
  if (part === "rank-times") return ofAnything(changed, SUMMARY_MS);
  return part === "stacks" ? ofAnything(changed, SLOW_MS) : null;
}

function ofExperiment(part: unknown, changed: Changed): number | null {
  if (part === "points") return changed.has_points ? SOON_MS : null;
  if (part === undefined || part === "runs" || part === "steps") return ofDetails(changed, SUMMARY_MS);
  return part === "answer" ? ofAnything(changed, SLOW_MS) : null;
}

/** What shows states and steps: a new state is asked for at once. */
function ofDetails({ has_points, has_details }: Changed, interval: number): number | null {
  if (has_details) return SOON_MS;
  return has_points ? interval : null;
}

function ofAnything({ has_points, has_details }: Changed, interval: number): number | null {
  return has_points || has_details ? interval : null;
}

function joined(runs: Changed[]): Changed {
  return {
    has_points: runs.some((run) => run.has_points),
    has_details: runs.some((run) => run.has_details),
  };
}
