"""The body of a webhook's POST: what happened, as data and as sentences."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from contract.described_model import DescribedModel

MessageType = Literal["experiment.ended", "run.failed", "run.preempted", "run.anomaly", "search.budget_used", "test"]


class MessageExperiment(DescribedModel):
    """The experiment of a message."""

    id: int = Field(examples=[17])
    """Id of the experiment."""
    name: str = Field(examples=["torus against ring"])
    """Its name."""
    owner: str = Field(examples=["ada"])
    """Its owner; empty if it has none."""
    project: str = Field(examples=["vision"])
    """Its project; empty if it has none."""


class MessageRun(DescribedModel):
    """What happened to one run."""

    id: int | None = Field(examples=[42])
    """Id of the run; null: a step failed before it had runs."""
    step: str | None = Field(default=None, examples=["prepare"])
    """Name of the step, where `id` is null."""
    at: datetime = Field(examples=["2026-11-26T12:00:00Z"])
    """When it happened."""
    cause: str | None = Field(default=None, examples=["out_of_memory"])
    """Why the attempt ended; of an anomaly `not_finite` or `stall`; null if no cause is known."""
    reason: str = Field(default="", examples=["rank 3 on n2: ValueError: no such column"])
    """The words of the run, of a rank or of the cluster."""


class MessageData(DescribedModel):
    """The content of a message."""

    title: str = Field(examples=["Run 42 of experiment 17 (torus against ring) failed"])
    """The message in one line."""
    text: str = Field(examples=["run 42: rank 3 on n2: ValueError: no such column"])
    """The lines below the title."""
    experiment: MessageExperiment | None = None
    """The experiment; null of a test."""
    counts: dict[str, int] = Field(default={}, examples=[{"running": 3, "done": 28, "failed": 1}])
    """The number of its runs in each state, when the message was made."""
    runs: list[MessageRun] = []
    """What happened to which runs, at most 50."""
    more_runs: int = Field(default=0, examples=[0])
    """How many more runs the message is about."""
    url: str | None = Field(default=None, examples=["https://bigbatch.example.org/experiments/17"])
    """The experiment's page; null without the setting `BIGBATCH_PUBLIC_URL`."""


class Message(DescribedModel):
    """A message as a webhook gets it."""

    type: MessageType = Field(examples=["run.failed"])
    """What happened."""
    timestamp: datetime = Field(examples=["2026-11-26T12:00:00Z"])
    """When the message was made; an attempt's own time is in the header `webhook-timestamp`."""
    data: MessageData
    """What happened to what."""
