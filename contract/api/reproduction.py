"""The API's responses about what a run needs to be repeated, and how runs differ."""

from typing import Any

from pydantic import Field

from contract.api.run_table import Cell
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


class ComparedField(DescribedModel):
    """A value that not all of the compared runs have alike."""

    path: str = Field(examples=["optimizer.kind"])
    """Dotted path of the value."""
    choices: list[Cell] = Field(examples=[["lars", "sgd", None]])
    """The different values: numbers, then texts, then null for runs without one."""
    places: list[int] = Field(examples=[[0, 0, 1, 2]])
    """For each run, in the order of `runs`, the index of its value in `choices`."""


class ComparedMetric(DescribedModel):
    """A metric that a compared run has reported."""

    name: str = Field(examples=["loss"])
    """Name of the series."""
    runs: int = Field(examples=[4])
    """Number of the runs that have it."""
    is_better_when_higher: bool = Field(examples=[False])
    """Whether its greatest value is its best one, by its name."""


class RunComparison(DescribedModel):
    """What differs between chosen runs of any experiments; what all of them have alike is left out."""

    runs: list[int] = Field(examples=[[12, 15, 40, 41]])
    """Ids of the runs, in the requested order; ids that no run has are left out."""
    spec: list[ComparedField]
    """Fields of the specs that differ, without the code."""
    code: ComparedField | None
    """Hashes of the code snapshots; null if all runs have the same one, or none."""
    environment: list[ComparedField]
    """Packages, variables and so on that differ, at most 1,000; without those that each job has for itself."""
    environment_note: str | None = Field(examples=["2 of 4 runs have no record of their environment"])
    """Which environments are not compared, and why; null if all are."""
    metrics: list[ComparedMetric]
    """The metrics of the runs, known ones first."""
