"""Schedules: experiments that are submitted again and again, or when a file appears."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from contract.described_model import DescribedModel
from contract.lifecycle.schedule import Missed, Overlap, StartStatus
from contract.spec.notify_rule import TargetName

EXAMPLE = {"name": "nightly", "base": {"kind": "program", "command": "python check.py"}}
Cron = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
FilePath = Annotated[str, Field(min_length=2, max_length=4_000, pattern=r"^/[^\x00-\x1f\x7f]*$")]


class NewSchedule(DescribedModel):
    """A schedule to store."""

    model_config = ConfigDict(extra="forbid")

    name: TargetName = Field(examples=["nightly"])
    """Its name: one word."""
    cron: Cron | None = Field(default=None, examples=["30 2 * * 1-5"])
    """When: minute, hour, day of the month, month, day of the week; null: `path` says when."""
    time_zone: str = Field(default="UTC", min_length=1, max_length=60, examples=["Europe/Berlin"])
    """The time zone of `cron`."""
    path: FilePath | None = Field(default=None, examples=["/data/incoming/today.tar"])
    """A file: the experiment is submitted when it appears and each time that it changes; null: `cron` says when."""
    missed: Missed = Missed.RUN_ONCE
    """What happens after starts were missed."""
    overlap: Overlap = Overlap.SKIP
    """What happens while the last experiment has not ended."""
    experiment: dict[str, Any] = Field(examples=[EXAMPLE])
    """The experiment, as `POST /experiments` takes it."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.cron is None) is (self.path is None):
            raise PydanticCustomError("schedule", "a schedule has either `cron` or `path`")
        return self


class ScheduleChange(DescribedModel):
    """A change of a schedule."""

    model_config = ConfigDict(extra="forbid")

    paused: bool = Field(examples=[True])
    """true: it starts nothing; false: it goes on, and what it missed counts as `missed` says."""


class ScheduleView(DescribedModel):
    """A schedule."""

    id: int = Field(examples=[4])
    """Id of the schedule."""
    name: str = Field(examples=["nightly"])
    """Its name."""
    owner: str = Field(examples=["ada"])
    """Who stored it, and the owner of its experiments; empty if the client gave no name."""
    experiment_name: str = Field(examples=["regression of the reference"])
    """Name of its experiments."""
    cron: str | None = Field(examples=["30 2 * * 1-5"])
    """When it starts; null: it follows a file."""
    time_zone: str = Field(examples=["Europe/Berlin"])
    """The time zone of `cron`."""
    path: str | None = Field(examples=["/data/incoming/today.tar"])
    """The file that it follows; null: it has moments."""
    missed: Missed
    """What happens after starts were missed."""
    overlap: Overlap
    """What happens while the last experiment has not ended."""
    next_at: datetime | None = Field(examples=["2026-11-27T01:30:00Z"])
    """Its next moment; null if it follows a file."""
    paused_at: datetime | None = Field(examples=[None])
    """Since when it is paused; null: it is not."""


class ScheduleStartView(DescribedModel):
    """One start of a schedule."""

    key: str = Field(examples=["2026-11-27T01:30:00+00:00"])
    """Its moment, or the version of the file."""
    at: datetime = Field(examples=["2026-11-27T01:30:00Z"])
    """When the service carried it out."""
    status: StartStatus
    """created, waiting, skipped or failed."""
    experiment_id: int | None = Field(examples=[17])
    """The experiment that it made; null: none."""
    message: str | None = Field(examples=["the last experiment had not ended"])
    """Why it made none; null: it made one, or waits."""


class ScheduleDetail(ScheduleView):
    """A schedule with its spec and its newest starts."""

    experiment: dict[str, Any] = Field(examples=[EXAMPLE])
    """The experiment that it submits."""
    starts: list[ScheduleStartView]
    """Its newest 50 starts, newest first."""


class Schedules(DescribedModel):
    """Schedules."""

    schedules: list[ScheduleView]
    """The schedules in the order of their names."""
