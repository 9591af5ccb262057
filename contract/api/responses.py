"""What the API answers: the shapes that the dashboard, the command and the Python client read."""

from datetime import datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field

from contract.api.cluster_report import ClusterReport
from contract.folder.auto_choice import Choice, Choices
from contract.folder.cpu_binding import Bindings
from contract.folder.lost_rank import LostRank
from contract.lifecycle.failure import Failure
from contract.lifecycle.pending_reason import Waits
from contract.lifecycle.state import State
from contract.spec.choices.collectives import Planned
from contract.spec.experiment import ExperimentSpec, Values
from contract.spec.retry import Cause
from contract.spec.run import RunSpec
from contract.validation import Fault

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """One page of a list, newest first; ask for the next with `before=next`."""

    items: list[T]
    next: int | None


class RunView(BaseModel):
    """A run as lists show it."""

    id: int
    experiment_id: int
    number: int  # its place in the experiment's grid, from 0
    values: Values
    state: State
    reason: str | None  # why it failed, was cancelled, waits, or is held up
    waits_kind: Waits | None  # of what kind the reason is for which its cluster does not start it
    stopping: bool  # a stop was asked for and the run has not ended yet
    not_before: datetime | None  # when a run that is tried again may be submitted
    attempt: int
    job_id: str | None
    cluster: str
    unknown_since: datetime | None  # since when the cluster does not answer for this job
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    step: int
    steps: int
    latest: dict[str, float | None]  # the newest value of every series


class MoveView(BaseModel):
    """One step of a run's life."""

    old: State | None
    new: State
    at: datetime
    reason: str | None


class AttemptView(BaseModel):
    """How one job ended that carried the run, or a part of it."""

    number: int
    job_id: str | None
    ended_at: datetime
    step: int  # the last one of which something is stored
    cause: Cause
    reason: str | None
    hosts: list[str]


class RestartView(BaseModel):
    """Where an attempt took the curve up again."""

    attempt: int
    step: int
    lost_steps: int  # that had been told before and were taken again
    at: datetime


class RunDetail(RunView):
    spec: RunSpec
    choices: Choices | None  # what `auto` chose, once it has
    bindings: Bindings | None  # what the ranks were bound to, on many-core chips
    lost_ranks: list[LostRank]  # that the run went on without, as replicas can
    moves: list[MoveView]
    attempts: list[AttemptView]  # those that have ended
    restarts: list[RestartView]
    excluded: list[str]  # hosts that failed under it and that its next attempts leave out
    failure: Failure | None  # of the last attempt that ended, if it failed
    series: list[str]
    folder: str


class FailedRun(BaseModel):
    """A run of an experiment that failed, and how."""

    id: int
    number: int
    values: Values
    step: int
    reason: str | None
    failure: Failure | None  # None where no job of it ever began


class ExperimentView(BaseModel):
    """An experiment as lists show it."""

    id: int
    name: str
    description: str
    created_at: datetime
    state: State
    runs: int
    counts: dict[State, int]
    progress: float  # steps taken over steps wanted, 0 to 1
    best_accuracy: float | None  # held-out, over its runs


class ExperimentDetail(ExperimentView):
    spec: ExperimentSpec


class Created(BaseModel):
    id: int
    runs: list[int]


class Stopped(BaseModel):
    """How many runs were asked to stop; those that had ended already are not among them."""

    stopping: int


class Column(BaseModel):
    """A series in the shape that a chart draws: x and y, step by step."""

    steps: list[int]
    values: list[float | None]


class RunPoints(BaseModel):
    series: dict[str, Column]
    more: bool  # the answer was cut at `limit`; ask again with `after` = the last step


class RunCurve(Column):
    run_id: int


class ExperimentPoints(BaseModel):
    name: str
    curves: list[RunCurve]
    more: bool


class LogPart(BaseModel):
    """Bytes `offset` to `next` of a run's log, as text."""

    text: str
    offset: int
    next: int
    size: int


class ClusterView(BaseModel):
    """What a cluster last said of itself, and when; `error` in its own words where it did not answer."""

    kind: str
    asked_at: datetime
    error: str | None
    report: ClusterReport | None


class PriceView(BaseModel):
    """What one collective costs on the network that was asked about."""

    collective: Annotated[Planned, Field(discriminator="kind")]
    rounds: int
    segments: int  # as many parts of the vector in a pipeline are best
    link_bytes: float  # over the busiest host's link, one way
    seconds: float
    times_bound: float | None  # seconds over the bound; none for one rank


class PriceList(BaseModel):
    """Every collective's price for one size and network, the cheapest first."""

    world: int
    bound_s: float  # less than this no all-reduce can take
    prices: list[PriceView]
    auto: list[Choice]  # what `auto` would take on this network, size by size


class RoundView(BaseModel):
    """The sends of a round as columns: `src` sends `size` chunks from `start` on to `dst`, who adds or keeps them."""

    src: list[int]
    dst: list[int]
    start: list[int]
    size: list[int]
    add: list[bool]


class PlanView(BaseModel):
    """A collective, round by round."""

    collective: Annotated[Planned, Field(discriminator="kind")]
    hosts: list[list[int]]  # the ranks of each
    chunks: int
    rounds: list[RoundView]


class Health(BaseModel):
    ok: bool
    version: str


class Readiness(BaseModel):
    ready: bool
    database: str
    scheduler: str
    scheduler_seen_at: datetime | None


class Problem(BaseModel):
    """What went wrong: a word for programs, a sentence for people, and the fields at fault."""

    code: str
    message: str
    fields: list[Fault] = []


class ErrorView(BaseModel):
    """The one shape of every error."""

    error: Problem
