"""Points and log of runs, as the API returns them."""

from pydantic import Field

from contract.described_model import DescribedModel


class Column(DescribedModel):
    """A series as two columns, steps and values."""

    steps: list[int] = Field(examples=[[1, 2, 3]])
    """The steps, ascending."""
    values: list[float | None] = Field(examples=[[2.31, 2.18, None]])
    """The value at each step; null for a value that was not a finite number."""


class RunPoints(DescribedModel):
    """Points of one run, by series."""

    series: dict[str, Column]
    """The points of each series, by its name."""
    more: bool = Field(examples=[False])
    """Whether `limit` was reached; request the rest with `after` = the last step."""


class RunCurve(Column):
    """One series of one run."""

    run_id: int = Field(examples=[42])
    """Id of the run."""


class ExperimentPoints(DescribedModel):
    """Points of one series for the runs of an experiment."""

    name: str = Field(examples=["loss"])
    """Name of the series."""
    curves: list[RunCurve]
    """The curve of each run that has new points, in the order of the grid."""
    more: bool = Field(examples=[False])
    """Whether `limit` was reached; request the rest with `after=RUN:STEP` for each run."""


class LogPart(DescribedModel):
    """The bytes from `offset` to `next` of a run's log, as text."""

    text: str = Field(examples=["step 1 loss 2.31\nstep 2 loss 2.18\n"])
    """The text; bytes that are no UTF-8 are replaced by U+FFFD."""
    offset: int = Field(examples=[0])
    """First byte of the part."""
    next: int = Field(examples=[34])
    """First byte behind the part: `offset` of the next request."""
    size: int = Field(examples=[34])
    """Bytes of the log when it was read."""
