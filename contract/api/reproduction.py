"""The API's responses about what a run needs to be repeated, and how two runs differ."""

from typing import Any

from pydantic import Field

from contract.api.snapshots import SnapshotDifferences
from contract.described_model import DescribedModel


class ValueDifference(DescribedModel):
    """A value that differs between two runs."""

    path: str = Field(examples=["parameters.lr"])
    """Dotted path of the value."""
    first: Any = Field(examples=[0.1])
    """The value of the run; null also for an absent value."""
    second: Any = Field(examples=[0.2])
    """The value of the other run; null also for an absent value."""


class RunDifferences(DescribedModel):
    """How two runs differ: in their specs, their code, and the environments of their latest attempts."""

    run: int = Field(examples=[42])
    """Id of the run."""
    other: int = Field(examples=[43])
    """Id of the run that it is compared with."""
    spec: list[ValueDifference]
    """Fields of the specs that differ, without the code."""
    code: SnapshotDifferences | None
    """Files that differ; null if one of the runs has no code snapshot, or its files are gone."""
    code_note: str | None = Field(examples=["both runs have the same code"])
    """Why there are no differences of files; null if there are some."""
    environment: list[ValueDifference]
    """Packages, variables and so on that differ, at most 1,000; without those that each job has for itself."""
    environment_note: str | None = Field(examples=["run 42 has no record of its environment"])
    """Why environments are not compared; null if they are."""
