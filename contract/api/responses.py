"""The API's response models, shared with the dashboard, the command and the Python client."""

from datetime import datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field

from contract.api.cluster_report import ClusterReport
from contract.folder.auto_choice import CollectiveChoice, CollectiveChoices
from contract.folder.cpu_binding import CpuBindings
from contract.folder.lost_rank import LostRank
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import Failure
from contract.lifecycle.pending_reason import PendingKind
from contract.lifecycle.state import State
from contract.spec.choices.collectives import PlannedCollective
from contract.spec.experiment import ExperimentSpec, Values
from contract.spec.run import RunSpec

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """One page of a list, newest first; request the next page with `before=next`."""

    items: list[T]
    next: int | None


class RunView(BaseModel):
    """A run in a list."""

    id: int
    experiment_id: int
    number: int  # index in the experiment's grid, from 0
    values: Values
    state: State
    reason: str | None  # why the run failed, was cancelled, waits or is delayed
    waits_kind: PendingKind | None  # kind of the reason why the cluster has not started the job
    stopping: bool  # a stop was requested and the run has not ended yet
    not_before: datetime | None  # earliest submission time of a retry
    attempt: int
    job_id: str | None
    cluster: str
    world: int  # ranks that train together, over all nodes
    unknown_since: datetime | None  # since when the cluster gives no answer about the job
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    step: int
    steps: int
    latest: dict[str, float | None]  # the newest value of every series


class MoveView(BaseModel):
    """One transition of a run's state."""

    old: State | None
    new: State
    at: datetime
    reason: str | None


class AttemptView(BaseModel):
    """An ended attempt of a run."""

    number: int
    job_id: str | None
    ended_at: datetime
    step: int  # the last stored step
    cause: ExitCause
    reason: str | None
    hosts: list[str]


class RestartView(BaseModel):
    """The step at which an attempt resumed the run."""

    attempt: int
    step: int
    lost_steps: int  # reported before and repeated by this attempt
    at: datetime


class RunDetail(RunView):
    """A run with its spec, history and failure."""

    spec: RunSpec
    choices: CollectiveChoices | None  # the choices of `auto`; null without any
    bindings: CpuBindings | None  # CPU and memory binding of the ranks on many-core chips
    lost_ranks: list[LostRank]  # ranks without which the run continued
    moves: list[MoveView]
    attempts: list[AttemptView]  # ended attempts
    restarts: list[RestartView]
    excluded: list[str]  # failed hosts that later attempts of the run do not use
    failure: Failure | None  # of the last ended attempt, if the attempt failed
    series: list[str]
    folder: str


class FailedRun(BaseModel):
    """A failed run of an experiment, with its failure."""

    id: int
    number: int
    values: Values
    step: int
    reason: str | None
    failure: Failure | None  # null if no job of the run ever started


class ExperimentView(BaseModel):
    """An experiment in a list."""

    id: int
    name: str
    description: str
    created_at: datetime
    state: State
    runs: int
    counts: dict[State, int]
    progress: float  # completed steps over all steps, 0 to 1
    best_accuracy: float | None  # highest held-out accuracy of the runs


class ExperimentDetail(ExperimentView):
    """An experiment with its spec."""

    spec: ExperimentSpec


class Created(BaseModel):
    """The ids of a created experiment and its runs."""

    id: int
    runs: list[int]
    warnings: list[str] = []  # the runs may fail for these reasons, which the service cannot decide


class DraftRun(BaseModel):
    """A run that an experiment would have."""

    number: int  # index in the experiment's grid, from 0
    values: Values
    cluster: str
    world: int  # ranks that train together, over all nodes
    steps: int


class ExperimentDraft(BaseModel):
    """What a request with `dry_run` would store."""

    spec: ExperimentSpec
    runs: list[DraftRun]


class Stopped(BaseModel):
    """The number of runs that were requested to stop, without runs that had ended before."""

    stopping: int


class Column(BaseModel):
    """A series as two columns, steps and values."""

    steps: list[int]
    values: list[float | None]


class RunPoints(BaseModel):
    """Points of one run, by series."""

    series: dict[str, Column]
    more: bool  # `limit` was reached; request the rest with `after` = the last step


class RunCurve(Column):
    """One series of one run."""

    run_id: int


class ExperimentPoints(BaseModel):
    """Points of one series for the runs of an experiment."""

    name: str
    curves: list[RunCurve]
    more: bool


class LogPart(BaseModel):
    """The bytes from `offset` to `next` of a run's log, as text."""

    text: str
    offset: int
    next: int
    size: int


class ClusterView(BaseModel):
    """The newest report of a cluster and its time; `error` is the cluster's message if the last query failed."""

    kind: str
    asked_at: datetime
    error: str | None
    report: ClusterReport | None


class PriceView(BaseModel):
    """The predicted cost of one collective on the requested network."""

    collective: Annotated[PlannedCollective, Field(discriminator="kind")]
    rounds: int
    segments: int  # best number of pipeline segments of the vector
    link_bytes: float  # bytes over the busiest host's link, in one direction
    seconds: float
    times_bound: float | None  # seconds over bound_s; null for one rank


class PriceList(BaseModel):
    """The predicted cost of every collective for one size and network, the cheapest first."""

    world: int
    bound_s: float  # lower bound of the time of any all-reduce
    prices: list[PriceView]
    auto: list[CollectiveChoice]  # what `auto` would choose on this network, by vector size


class RoundView(BaseModel):
    """The sends of a round: rank `src` sends `size` chunks from `start` on to `dst`, which adds or replaces them."""

    src: list[int]
    dst: list[int]
    start: list[int]
    size: list[int]
    add: list[bool]


class PlanView(BaseModel):
    """The plan of a collective: the sends of every round."""

    collective: Annotated[PlannedCollective, Field(discriminator="kind")]
    hosts: list[list[int]]  # the ranks of each host
    chunks: int
    rounds: list[RoundView]


class Health(BaseModel):
    """The API process answers."""

    ok: bool
    version: str


class Readiness(BaseModel):
    """The state of the database and the scheduler."""

    ready: bool
    database: str
    scheduler: str
    scheduler_seen_at: datetime | None
