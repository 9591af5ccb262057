"""The API's responses about experiments and runs, shared with the dashboard, the command and the Python client."""

import operator
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import ConfigDict, Field

from contract.api.objective import BestValue, ShownObjective
from contract.api.unread import UnreadView
from contract.described_model import DescribedModel
from contract.folder.auto_choice import CollectiveChoices
from contract.folder.cpu_binding import CpuBindings
from contract.folder.lost_rank import LostRank
from contract.lifecycle.divergence import Diverged
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import Failure
from contract.lifecycle.pending_reason import PendingKind
from contract.lifecycle.state import State
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import Values
from contract.spec.recorded.run import RecordedExperiment
from contract.spec.recorded.stored_run import StoredRun

T = TypeVar("T")
MOMENT = "2026-11-23T08:00:00Z"
VALUES = {"batch": 256, "collective": {"kind": "ring"}}


class Page(DescribedModel, Generic[T]):
    """One page of a list."""

    model_config = ConfigDict(json_schema_extra={"description": "One page of a list."})  # no Page[...] has a docstring

    items: list[T]
    """The items, in the order of the list."""
    next: int | None = Field(examples=[17])
    """Where the next page begins: `before` of its request, or `after` in a list with this parameter; null: no more."""


class RunView(DescribedModel):
    """A run in a list."""

    id: int = Field(examples=[42])
    """Id of the run."""
    experiment_id: int = Field(examples=[17])
    """Id of the run's experiment."""
    number: int = Field(examples=[0])
    """Index in the experiment's grid, from 0."""
    step_id: int | None = Field(examples=[3])
    """Id of the run's step in a workflow; null without steps."""
    values: Values = Field(examples=[VALUES])
    """The value of each field that the grid sets, by dotted path; empty without axes and variants."""
    state: State
    """State of the run."""
    reason: str | None = Field(examples=["rank 3 on n2: CUDA out of memory"])
    """Why the run failed, was cancelled, waits or is delayed, as a sentence; null if nothing needs a reason."""
    waits_kind: PendingKind | None
    """Kind of the reason why the cluster has not started the job; null if the job does not wait."""
    stopping: bool = Field(examples=[False])
    """Whether a stop was requested and the run has not ended yet."""
    after_failure: bool = Field(examples=[False])
    """Whether the attempt has failed: `paused` waits for the end of its job, `queued` for the next attempt."""
    not_before: datetime | None = Field(examples=[MOMENT])
    """Earliest submission of a retry; null without a delay."""
    attempt: int = Field(examples=[1])
    """Number of the current attempt, from 1; 0 before the first submission."""
    job_id: str | None = Field(examples=["4711"])
    """The cluster's id of the current attempt's job; null while the cluster has no job of it."""
    cluster: str = Field(examples=["slurm"])
    """The cluster of the run's jobs, as `resources.kind` of the spec names it."""
    world: int = Field(examples=[8])
    """Number of ranks that train together, over all nodes."""
    unknown_since: datetime | None = Field(examples=[MOMENT])
    """Since when the cluster gives no answer about the job; null if it answers."""
    created_at: datetime = Field(examples=[MOMENT])
    """When the experiment was stored."""
    started_at: datetime | None = Field(examples=[MOMENT])
    """When the first attempt began to train, as it reported; null before."""
    ended_at: datetime | None = Field(examples=[MOMENT])
    """When the run was done, failed or cancelled, as it or its cluster reported; null before."""
    ran_s: float | None = Field(examples=[3120.5])
    """Seconds for which its ended attempts ran, each from its start to its end, as the job measured, else as its
    cluster reports; what lies between attempts counts nothing. Null: none has ended, or the time is not known."""
    attempt_started_at: datetime | None = Field(examples=[MOMENT])
    """When the current attempt began to train, as it reported; null before."""
    step: int = Field(examples=[1200])
    """The newest stored step, 0 before the first; of a program that is done and counts from 0, the step after it."""
    steps: int = Field(examples=[4875])
    """Number of steps of the whole run."""
    latest: dict[str, float | None] = Field(examples=[{"loss": 0.41, "heldout_accuracy": 0.983}])
    """The newest values of metrics by name, in a list of some of them; null: not a finite number."""
    more_metrics: int = Field(default=0, examples=[0])
    """Number of the run's metrics that `latest` leaves out, which only lists do."""
    tags: list[str] = Field(examples=[["baseline"]])
    """Tags of the run, in alphabetical order."""
    archived_at: datetime | None = Field(examples=[MOMENT])
    """When the run was archived, so that lists hide it; null: it is not archived."""
    left_out: str | None = Field(examples=["the node's disk was full"])
    """Why no answer counts the run, in the words of the person who left it out; null: answers count it."""
    objective_value: float | None = Field(examples=[0.41])
    """The run's value of the objective of its experiment; null: it has reported none, or there is no objective."""
    diverged: Diverged | None
    """Since which step a metric has no finite value, NaN or infinity alone; null: the newest values are numbers."""
    unread: UnreadView | None
    """What could not be read of what the run wrote; null: nothing."""


class MoveView(DescribedModel):
    """One transition of a run's state."""

    old: State | None
    """State before; null at the creation of the run."""
    new: State
    """State after."""
    at: datetime = Field(examples=[MOMENT])
    """When the state changed, as the run or its cluster reported; else when the service changed it."""
    reason: str | None = Field(examples=["another job preempted the job"])
    """Why the state changed, as a sentence; null if the change needs no reason."""


class AttemptView(DescribedModel):
    """An ended attempt of a run."""

    number: int = Field(examples=[1])
    """Number of the attempt, from 1."""
    job_id: str | None = Field(examples=["4711"])
    """The cluster's id of the attempt's job; null if the cluster never had one."""
    ended_at: datetime = Field(examples=[MOMENT])
    """When the attempt ended, as its run or its cluster reported; else when the service saw its end."""
    started_at: datetime | None = Field(examples=[MOMENT])
    """When the attempt began to train, as it reported; null: it did not, or that is not known."""
    ran_s: float | None = Field(examples=[3120.5])
    """Seconds from its start to its end, as the job measured, else as its cluster reports; null: not known."""
    step: int = Field(examples=[1200])
    """The last step that the attempt reported; 0 without one."""
    cause: ExitCause
    """Why the attempt ended."""
    reason: str | None = Field(examples=["another job preempted the job"])
    """Why the attempt ended, as a sentence; null if the cause says all."""
    hosts: list[str] = Field(examples=[["n1", "n2"]])
    """The hosts of the attempt's job; empty if they are not known."""


class RestartView(DescribedModel):
    """The step at which an attempt resumed the run."""

    attempt: int = Field(examples=[2])
    """Number of the attempt, from 1."""
    step: int = Field(examples=[1000])
    """Step of the checkpoint; 0 without one."""
    lost_steps: int = Field(examples=[200])
    """Number of steps that an earlier attempt reported and this attempt repeats."""
    at: datetime = Field(examples=[MOMENT])
    """When the attempt resumed, by the clock of rank 0's host."""


class RunDetail(RunView):
    """A run with its spec, history and failure."""

    spec: StoredRun
    """The complete spec of the run."""
    choices: CollectiveChoices | None
    """The choices of the collective `auto`; null without any."""
    bindings: CpuBindings | None
    """CPU and memory binding of the ranks on many-core chips; null without `many_core`."""
    lost_ranks: list[LostRank]
    """Ranks without which the run continued."""
    moves: list[MoveView]
    """The transitions of the run's state, oldest first."""
    attempts: list[AttemptView]
    """Ended attempts, oldest first."""
    restarts: list[RestartView]
    """The steps at which attempts resumed the run, oldest first."""
    excluded: list[str] = Field(examples=[["n3"]])
    """Failed hosts that later attempts of the run do not use."""
    failure: Failure | None
    """The failure of the last ended attempt; null if that attempt did not fail."""
    devices: int = Field(examples=[8])
    """Number of the run's devices: GPUs; without any, many-core chips or ranks."""
    series: list[str] = Field(examples=[["loss", "learning_rate"]])
    """Names of the series that have points."""
    points_removed_at: datetime | None = Field(examples=[MOMENT])
    """When the service removed the points of this old run; null: all points are stored."""
    history_removed_at: datetime | None = Field(examples=[MOMENT])
    """When the service removed the entries of waiting from `moves`; null: all entries are stored."""
    notes: str = Field(examples=["The loss has a spike at step 900."])
    """Notes on the run, in Markdown; may be empty."""
    folder: str = Field(examples=["/shared/bigbatch/runs/000042-1f0c9a2b3d4e"])
    """The run folder on the cluster's file system."""


class FailedRun(DescribedModel):
    """A failed run of an experiment, with its failure."""

    id: int = Field(examples=[42])
    """Id of the run."""
    number: int = Field(examples=[0])
    """Index in the experiment's grid, from 0."""
    values: Values = Field(examples=[VALUES])
    """The value of each field that the grid sets, by dotted path; empty without axes and variants."""
    step: int = Field(examples=[1200])
    """The last stored step."""
    reason: str | None = Field(examples=["rank 3 on n2: CUDA out of memory"])
    """Why the run failed, as a sentence."""
    failure: Failure | None
    """The failure of the last attempt; null if no job of the run ever started."""


class ExperimentView(DescribedModel):
    """An experiment in a list."""

    id: int = Field(examples=[17])
    """Id of the experiment."""
    name: str = Field(examples=["torus against ring"])
    """Name of the experiment; several experiments may have the same."""
    description: str = Field(examples=["All collectives compute the same sums."])
    """Description of the experiment; may be empty."""
    created_at: datetime = Field(examples=[MOMENT])
    """When the experiment was stored."""
    state: State
    """Joint state: of any run that has not ended, running first; then failed before cancelled before done."""
    runs: int = Field(examples=[3])
    """Number of runs."""
    counts: dict[State, int] = Field(examples=[{"running": 1, "done": 2}])
    """Number of runs in each state; a state without runs may be absent."""
    diverged: int = Field(default=0, examples=[0])
    """Number of runs of which a metric has no finite value any more."""
    open_steps: int = Field(examples=[0])
    """Number of steps of a workflow that wait or run; 0 without steps."""
    progress: float = Field(examples=[0.75])
    """Completed steps over all steps of all runs, 0 to 1; 0 if `steps` is 0."""
    steps: int = Field(examples=[14625])
    """Number of steps of all runs together; 0 if the runs are programs of an unknown number of steps."""
    objective: ShownObjective | None
    """Which metric counts: as the experiment says, else the held-out accuracy of the engine, or the metric of a program
    whose name tells most; null: nothing says which one."""
    best: BestValue | None
    """The best value of the objective, and the run that has it; null before the first one."""
    series: list[str] = Field(examples=[["loss", "heldout_accuracy"]])
    """Names of the series that the first run reports, at most 100, without those of single ranks."""
    owner: str = Field(examples=["ada"])
    """Owner of the experiment; may be empty."""
    project: str = Field(examples=["vision"])
    """Project of the experiment; may be empty."""
    tags: list[str] = Field(examples=[["baseline", "lars"]])
    """Tags of the experiment, in alphabetical order."""
    archived_at: datetime | None = Field(examples=[MOMENT])
    """When the experiment was archived, so that lists hide it; null: it is not archived."""
    origin: int | None = Field(examples=[12])
    """Id of the experiment from which this one was made, by a rerun or as a clone; null without one."""


class ExperimentDetail(ExperimentView):
    """An experiment with its spec."""

    spec: ExperimentSpec | RecordedExperiment = Field(union_mode="left_to_right")
    """The complete spec of the experiment, with the name and labels that it had when it was stored."""
    notes: str = Field(examples=["Compare with experiment 12."])
    """Notes on the experiment, in Markdown; may be empty."""
    added_points: list[Values] = Field(examples=[[VALUES]])
    """Points that were added outside the grid of the spec."""


class Created(DescribedModel):
    """The ids of a created experiment and its runs."""

    id: int = Field(examples=[17])
    """Id of the experiment."""
    runs: list[int] = Field(examples=[[42, 43, 44]])
    """Ids of the runs, in the order of the grid."""
    warnings: list[str] = Field(
        default=[], examples=[["base.model.function: there is no module 'nets'; the jobs' Python must have it"]]
    )
    """Reasons for which runs may fail, and which the service cannot decide."""


class Stopped(DescribedModel):
    """The result of a request to stop."""

    stopping: int = Field(examples=[2])
    """Number of runs that were requested to stop, without runs that had ended before."""
    steps: list[str] = Field(default=[], examples=[["evaluate"]], exclude_if=operator.not_)
    """Names of the waiting steps of a workflow that were cancelled; absent without any."""
