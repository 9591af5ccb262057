/** A fake service that answers with the objects of the API. */
import { vi } from "vitest";
import type { components } from "@/shared/api/schema";
import type { ExperimentDetail, ProgramSpec, RunDetail, RunView, TablePage } from "@/shared/api/types";

type Answer = (url: URL) => unknown;
type Problem = Omit<Partial<components["schemas"]["Problem"]>, "errors"> & {
  status: number;
  errors?: { path: string; message: string; start?: number; end?: number }[]; // a mistake of a query has a place
};

/**
 * Answer "GET /path" by `answers`, paths in `refused` with their problem, paths in `broken` with 500 and no document,
 * other paths with 404; `down` fails all requests.
 */
export class Service {
  down = false;
  date: Date | null = null; // of its clock, in each answer; null: answers name none
  readonly broken = new Set<string>();
  readonly refused: Record<string, Problem> = {};
  readonly requests: string[] = [];
  readonly bodies: string[] = []; // "POST /path {...}"
  readonly users = new Map<string, string | null>(); // request: the user that it names
  readonly marks = new Map<string, string | null>(); // request: the mark of the change to which it reacts

  constructor(readonly answers: Record<string, Answer>) {
    vi.stubGlobal("fetch", (request: Request) => this.answer(request));
  }

  private async answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const key = `${request.method} ${url.pathname.replace("/api/v1", "")}`;
    const body = await request.clone().text();
    if (body) this.bodies.push(`${key} ${body}`);
    this.users.set(key, request.headers.get("Bigbatch-User"));
    this.marks.set(key, request.headers.get("Bigbatch-After"));
    this.requests.push(key + decodeURIComponent(url.search));
    if (this.down) return Promise.reject(new TypeError("Failed to fetch"));
    if (this.broken.has(key)) return Promise.resolve(new Response("", { status: 500 }));
    const problem = this.refused[key];
    if (problem) return Promise.resolve(Response.json(problem, { status: problem.status }));
    const found = this.answers[key] ?? this.tableOfExperiment(key, url);
    const headers: HeadersInit = this.date ? [["date", this.date.toUTCString()]] : [];
    if (found) return Response.json(await found(url), { headers });
    const absent = { code: "not_found", detail: `there is no ${key}`, errors: [] };
    return Promise.resolve(Response.json(absent, { status: 404 }));
  }

  /** The table of an experiment has the runs of its list. */
  private tableOfExperiment(key: string, url: URL): Answer | undefined {
    const list = this.answers[`GET /experiments/${url.searchParams.get("experiment") ?? ""}/runs`];
    if (key !== "GET /runs/table" || !list) return undefined;
    return tableOf((list(url) as { items: RunView[] }).items);
  }
}

const AT = "2026-01-05T12:00:00Z";

export function aRun(change: Partial<RunView> = {}): RunView {
  return {
    id: 7,
    experiment_id: 3,
    number: 0,
    step_id: null,
    values: {},
    state: "running",
    reason: null,
    waits_kind: null,
    stopping: false,
    after_failure: false,
    not_before: null,
    attempt: 1,
    job_id: "4207",
    cluster: "slurm",
    world: 8,
    unknown_since: null,
    created_at: AT,
    started_at: AT,
    ended_at: null,
    ran_s: null,
    attempt_started_at: AT,
    step: 3,
    steps: 10,
    latest: { loss: 0.51234, heldout_accuracy: 0.9312 },
    tags: [],
    archived_at: null,
    left_out: null,
    objective_value: 0.9312,
    unread: null,
    diverged: null,
    more_metrics: 0,
    ...change,
  };
}

export function aRunDetail(change: Partial<RunDetail> = {}): RunDetail {
  const resources = { kind: "slurm", nodes: 2, ranks_per_node: 4 };
  const spec = {
    kind: "engine",
    optimizer: { kind: "sgd" },
    batch: 64,
    epochs: 2,
    resources,
  } as unknown as RunDetail["spec"];
  const moves: RunDetail["moves"] = [
    { old: null, new: "queued", at: AT, reason: null },
    { old: "queued", new: "running", at: "2026-01-05T12:00:41Z", reason: null },
  ];
  return {
    ...aRun(),
    spec,
    moves,
    attempts: [],
    restarts: [],
    devices: 8,
    excluded: [],
    lost_ranks: [],
    series: ["loss"],
    points_removed_at: null,
    history_removed_at: null,
    notes: "",
    folder: "/runs/000007-ab",
    choices: null,
    bindings: null,
    failure: null,
    ...change,
  };
}

export function anExperiment(change: Partial<ExperimentDetail> = {}): ExperimentDetail {
  const spec = {
    base: { kind: "engine", epochs: 2 },
    axes: {},
    variants: [],
    name: "a grid",
  } as unknown as ExperimentDetail["spec"];
  return {
    id: 3,
    name: "a grid",
    description: "",
    created_at: AT,
    state: "running",
    open_steps: 0,
    diverged: 0,
    runs: 2,
    counts: { running: 1, done: 1 },
    progress: 0.625,
    steps: 20,
    series: ["loss", "heldout_accuracy"],
    objective: { metric: "heldout_accuracy", goal: "max", value: "best" },
    best: { value: 0.9312, run: 7 },
    owner: "",
    project: "",
    tags: [],
    archived_at: null,
    origin: null,
    notes: "",
    added_points: [],
    spec,
    ...change,
  };
}

export function aProgram(change: Partial<ProgramSpec> = {}): ProgramSpec {
  return {
    kind: "program",
    command: "python train.py --lr {lr} --name {name} --out {run_folder} {{again}} {unknown}",
    launcher: "torchrun",
    resources: { kind: "slurm", nodes: 2, ranks_per_node: 4, cpus_per_rank: 1, minutes: 60, options: {} },
    environment: { modules: [], setup: [], variables: {} },
    working_folder: "/home/ann/project",
    parameters: { lr: 0.1, name: "a b", net: { depth: 3 } },
    retries: {} as ProgramSpec["retries"],
    stall_minutes: 10,
    steps: 0,
    system_metrics_s: 15,
    time_split: true,
    metrics: [],
    inputs: {},
    outputs: {},
    keep: { kind: "all" },
    reuse: false,
    ...change,
  };
}

type Cell = TablePage["rows"][number]["cells"][number];

/** The answer of GET /runs/table for runs: each requested column has the value that the run's page shows. */
export function tableOf(runs: RunView[]): (url: URL) => TablePage {
  return (url) => {
    const columns = url.searchParams.getAll("column");
    const sort = url.searchParams.get("sort") ?? "";
    const name = sort.replace(/^-/, "");
    const sorted = name
      ? runs.toSorted((one, other) => Number(cellOf(one, name)) - Number(cellOf(other, name)))
      : runs;
    return {
      total: runs.length,
      offset: 0,
      next: null,
      columns: columns.map((column) => ({ name: column, kind: kindOf(column), metric: metricOf(column) })),
      rows: (sort.startsWith("-") ? sorted.toReversed() : sorted).map((run) => ({
        ...run,
        cells: columns.map((column) => cellOf(run, column)),
      })),
    };
  };
}

function metricOf(column: string): string | null {
  return /^(?:last|best|min|max)\((.+)\)$/.exec(column)?.[1]?.replaceAll("`", "") ?? null;
}

function kindOf(column: string): string {
  return metricOf(column) === null && column !== "progress" ? "any" : "number";
}

function cellOf(run: RunView, column: string): Cell {
  const metric = metricOf(column);
  if (/^(best|min|max)\(/.test(column)) return run.objective_value;
  if (metric !== null) return run.latest[metric] ?? null;
  if (column === "progress") return run.steps ? run.step / run.steps : null;
  if (column === "step" || column === "steps" || column === "number") return run[column];
  return (run.values[column] as Cell | undefined) ?? null;
}

type Partition = components["schemas"]["Partition"];

/** A partition as the report of a Slurm cluster has it. */
export function aPartition(change: Partial<Partition> = {}): Partition {
  return {
    name: "cpu",
    is_default: true,
    state: "up",
    nodes: 4,
    idle_nodes: 3,
    cpus: 8,
    time_limit: "",
    gres: "",
    whole_nodes: false,
    out_of_service: {},
    ...change,
  };
}
