"""Requests and responses of what may happen to experiments and runs after their start: retry, extend, delete."""

import operator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from contract.described_model import DescribedModel
from contract.lifecycle.state import State
from contract.spec.grid.grid import Values
from contract.spec.numbers import Count

RetriedState = Literal["failed", "cancelled"]


class RetryRequest(DescribedModel):
    """Which ended runs are retried."""

    model_config = ConfigDict(extra="forbid", strict=True)

    states: Annotated[list[RetriedState], Field(min_length=1, max_length=2)] = ["failed", "cancelled"]
    """The states of the runs that are retried; other runs do not change."""
    accept_new_data: bool = False
    """Whether runs of the engine may go on with data whose sizes or labels are not those of their checkpoints: it sets
    `checkpoint.accept_new_data` of their specs. Runs of programs have no such check."""


class UnchangedRun(DescribedModel):
    """A run that a request left as it is."""

    id: int = Field(examples=[43])
    """Id of the run."""
    state: State
    """State of the run."""
    why: str = Field(examples=["the run has not ended"])
    """Why the run did not change."""


class RetryResult(DescribedModel):
    """The result of a request to retry runs."""

    queued: list[int] = Field(examples=[[42, 44]])
    """Ids of the runs that go on as their next attempt, from their newest checkpoint."""
    waiting: list[int] = Field(examples=[[44]])
    """Those of them whose last job has not left yet: the next attempt is submitted when it has."""
    unchanged: list[UnchangedRun]
    """The other runs."""
    steps: list[str] = Field(default=[], examples=[["evaluate"]], exclude_if=operator.not_)
    """Names of the steps of a workflow that had ended without runs and wait again; absent without any."""


class PointsRequest(DescribedModel):
    """Points to add to an experiment: further values of axes, or a list of points."""

    model_config = ConfigDict(extra="forbid", strict=True)

    axes: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default={}, examples=[{"batch": [512, 1024]}])
    """Further values of the experiment's axes: the grid grows by every combination that it lacks."""
    points: Annotated[list[Values], Field(max_length=10_000)] = Field(
        default=[], examples=[[{"batch": 2048, "seed": 1}]]
    )
    """Points by the dotted paths of their fields, outside the grid."""
    like: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = Field(default=None, examples=[42])
    """Id of an experiment whose points outside its grid are added too, as they are stored; null: none."""


class SpecText(DescribedModel):
    """The document of an experiment, by which it can be submitted."""

    text: str = Field(examples=["name: a grid\nbase: {kind: program, command: python train.py}\n"])
    """The document in YAML. Numbers are as they are stored: 1.0 is not 1, and large integers are not rounded."""


class PointsAdded(DescribedModel):
    """The result of a request to add points."""

    id: int = Field(examples=[17])
    """Id of the experiment."""
    runs: list[int] = Field(examples=[[45, 46]])
    """Ids of the new runs, whose numbers follow those of the experiment's runs."""
    existing: int = Field(examples=[6])
    """Number of points of the grown grid and of the list that the experiment had already."""


class ExtensionRequest(DescribedModel):
    """How long a run that is done shall go on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    epochs: Count = Field(examples=[50])
    """The new total number of epochs. A request with the run's own number changes nothing."""


class RunExtended(DescribedModel):
    """The result of a request to extend a run."""

    id: int = Field(examples=[42])
    """Id of the run."""
    epochs: int = Field(examples=[50])
    """Number of epochs of the run."""
    steps: int = Field(examples=[9750])
    """Number of steps of the run."""
    from_step: int | None = Field(examples=[4875])
    """Step of the checkpoint from which the run goes on; null if the request changed nothing."""
    state: State
    """State of the run."""


class StoredSize(DescribedModel):
    """What a deletion would remove."""

    runs: int = Field(examples=[3])
    """Number of runs."""
    size_bytes: int = Field(examples=[1_250_000_000])
    """Size of the files in the run folders."""
    files: int = Field(examples=[412])
    """Number of files in the run folders."""
    is_complete: bool = Field(examples=[True])
    """Whether all files were counted; false: counting took too long, and there are more."""
    undo_hours: int = Field(examples=[24])
    """Hours for which the deletion can be undone; the files stay for so long. 0: they are removed at once."""
    confirm: str = Field(examples=["torus against ring"])
    """The text that a DELETE must have as its parameter `confirm`."""
    blocked_by: list[int] = Field(examples=[[43]])
    """Ids of runs that have not ended, at most 100: a deletion is refused while there are any."""


class Deleted(DescribedModel):
    """The result of a deletion."""

    runs: int = Field(examples=[3])
    """Number of runs that were deleted. 0: they were deleted before."""
    restorable_until: datetime | None = Field(default=None, examples=["2026-11-24T08:00:00Z"])
    """Until when the deletion can be undone at least; the files stay for so long. Null: they are being removed."""


class Restored(DescribedModel):
    """The result of the undo of a deletion."""

    runs: int = Field(examples=[3])
    """Number of runs that are back. 0: nothing was deleted."""


class DeletionView(DescribedModel):
    """A deletion that can be undone."""

    kind: Literal["experiment", "run"]
    """Whether an experiment with its runs was deleted, or a single run."""
    id: int = Field(examples=[42])
    """Id of the experiment or of the run."""
    experiment_id: int = Field(examples=[17])
    """Id of the experiment."""
    name: str = Field(examples=["torus against ring"])
    """Name of the experiment."""
    runs: int = Field(examples=[3])
    """Number of runs that a restore brings back."""
    deleted_at: datetime = Field(examples=["2026-11-23T08:00:00Z"])
    """When it was deleted."""
    restorable_until: datetime = Field(examples=["2026-11-24T08:00:00Z"])
    """Until when it can be restored at least."""


class DeletionPage(DescribedModel):
    """A page of the deletions that can be undone."""

    items: list[DeletionView]
    """The deletions, the newest first."""
    next: str | None = Field(examples=["2026-11-23T08:00:00Z,run,42"])
    """Where the next page begins: `after` of its request; null: no more."""
