"""Requests that store experiments and runs which were carried out elsewhere."""

from typing import Annotated

from pydantic import AwareDatetime, ConfigDict, Field

from contract.api.labels import Tags
from contract.described_model import DescribedModel
from contract.spec.labels import Name, Notes, Owner, Project
from contract.spec.recorded.run import RecordedName, RecordedParameters, Source

MAX_RUNS = 500  # of a request
RunKey = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")]


class RecordingRequest(DescribedModel):
    """A new experiment for runs that were carried out elsewhere."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(examples=["imported logs"])
    """Name of the experiment."""
    source: Source = Field(examples=["TensorBoard: /data/logs"])
    """Where its runs come from."""
    description: Annotated[str, Field(max_length=10_000)] = Field(default="", examples=["Runs of the old cluster."])
    """Text for people."""
    notes: Notes = Field(default="", examples=["Compare with experiment 12."])
    """Notes on the experiment, in Markdown."""
    owner: Owner | None = Field(default=None, examples=["ada"])
    """Owner; null: the user of the client."""
    project: Project = Field(default="", examples=["vision"])
    """Project of the experiment."""
    tags: Tags = []
    """Tags of the experiment."""


class Recording(DescribedModel):
    """An experiment for runs that were carried out elsewhere."""

    id: int = Field(examples=[17])
    """Id of the experiment."""


class RecordedRun(DescribedModel):
    """A run that was carried out elsewhere."""

    model_config = ConfigDict(extra="forbid")

    key: RunKey = Field(examples=["resnet/lr-0.1"])
    """What distinguishes the run from all others of the experiment: a run that is sent again is stored once."""
    name: RecordedName = Field(default="", examples=["resnet/lr-0.1"])
    """Name of the run at its source."""
    parameters: RecordedParameters = Field(default={}, examples=[{"lr": 0.1, "optimizer": "lars"}])
    """Parameters of the run."""
    started_at: AwareDatetime | None = Field(default=None, examples=["2026-11-23T08:00:00Z"])
    """When it began to train; null: not known."""
    ended_at: AwareDatetime | None = Field(default=None, examples=["2026-11-23T09:00:00Z"])
    """When it ended; null: now."""
    notes: Notes = Field(default="", examples=["The loss has a spike at step 900."])
    """Notes on the run, in Markdown."""
    tags: Tags = []
    """Tags of the run."""


class RecordedRunsRequest(DescribedModel):
    """Runs that were carried out elsewhere."""

    model_config = ConfigDict(extra="forbid")

    runs: Annotated[list[RecordedRun], Field(min_length=1, max_length=MAX_RUNS)]
    """The runs."""


class RecordedRuns(DescribedModel):
    """The stored runs of a request."""

    runs: list[int] = Field(examples=[[42, 43]])
    """Ids of the runs, in the order of the request."""
    new: int = Field(examples=[2])
    """How many of them the request has added; the others were there before, and nothing of them has changed."""
