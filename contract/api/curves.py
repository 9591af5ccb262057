"""Points and log of runs, as the API returns them."""

from enum import StrEnum

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


class BucketedCurve(DescribedModel):
    """A part of a series in buckets: what the points of each so many steps sum up to."""

    width: int = Field(examples=[128])
    """Number of steps of a bucket. With 1 each bucket is one point, as in every part with few points."""
    first_step: int = Field(examples=[1])
    """First step of the whole series."""
    last_step: int = Field(examples=[93000])
    """Last step of the whole series."""
    steps: list[int] = Field(examples=[[0, 128]])
    """First step of each bucket, ascending. Buckets without points are left out."""
    counts: list[int] = Field(examples=[[127, 128]])
    """Number of points in each bucket."""
    min: list[float | None] = Field(examples=[[2.11, 1.98]])
    """Least finite value in each bucket; null without any."""
    max: list[float | None] = Field(examples=[[2.31, 2.18]])
    """Greatest finite value in each bucket; null without any."""
    mean: list[float | None] = Field(examples=[[2.21, 2.06]])
    """Mean of the finite values in each bucket; null without any."""
    last: list[float | None] = Field(examples=[[2.15, None]])
    """Value of the last step of each bucket; null if that was not a finite number."""
    nan: list[int] = Field(examples=[[128]])
    """The buckets, by first step, that have a value that was no number (NaN)."""
    infinity: list[int] = Field(examples=[[]])
    """The buckets, by first step, that have the value infinity."""
    minus_infinity: list[int] = Field(examples=[[]])
    """The buckets, by first step, that have the value minus infinity."""


class RunCurves(DescribedModel):
    """Series of one run in buckets."""

    series: dict[str, BucketedCurve]
    """The curve of each series that has points there, by its name."""


class RunBucketedCurve(BucketedCurve):
    """One series of one run in buckets."""

    run_id: int = Field(examples=[42])
    """Id of the run."""
    devices: int = Field(examples=[8])
    """Number of the run's devices: GPUs; without any, many-core chips or ranks."""
    restarts: list[int] = Field(examples=[[1200]])
    """The steps from which later attempts resumed the run, ascending."""


class ExperimentCurves(DescribedModel):
    """One series of an experiment's runs in buckets."""

    name: str = Field(examples=["loss"])
    """Name of the series."""
    curves: list[RunBucketedCurve]
    """The curve of each run that has points there, in the order of the grid."""


class ComparedCurve(DescribedModel):
    """One series of one run in buckets, with what a picture of many curves needs: values have seven digits."""

    run_id: int = Field(examples=[42])
    """Id of the run."""
    width: int = Field(examples=[128])
    """Number of steps of a bucket. With 1 each bucket is one point, as in every curve with few points."""
    last_step: int = Field(examples=[93000])
    """Last step of the whole series."""
    devices: int = Field(examples=[8])
    """Number of the run's devices: GPUs; without any, many-core chips or ranks."""
    restarts: list[int] = Field(examples=[[1200]])
    """The steps from which later attempts resumed the run, ascending."""
    steps: list[int] = Field(examples=[[0, 128]])
    """First step of each bucket, ascending. Buckets without points are left out."""
    mean: list[float | None] = Field(examples=[[2.21, 2.06]])
    """Mean of the finite values in each bucket; null without any."""
    min: list[float | None] | None = Field(examples=[[2.11, 1.98]])
    """Least finite value in each bucket; null for the whole list where each bucket is one point."""
    max: list[float | None] | None = Field(examples=[[2.31, 2.18]])
    """Greatest finite value in each bucket; null for the whole list where each bucket is one point."""
    not_finite: list[int] = Field(examples=[[128]])
    """The buckets, by first step, that have a value that is NaN or infinite."""


class ComparedCurves(DescribedModel):
    """One series of chosen runs in buckets."""

    name: str = Field(examples=["loss"])
    """Name of the series."""
    curves: list[ComparedCurve]
    """The curve of each run that has points there, in the requested order."""


class LogLevel(StrEnum):
    """The levels of a log's lines, as Python's logging names them; `error` has critical ones and tracebacks, too."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogPart(DescribedModel):
    """The bytes from `offset` to `next` of a run's log, as text; of a search, the lines of these bytes that match."""

    text: str = Field(examples=["step 1 loss 2.31\nstep 2 loss 2.18\n"])
    """The text; bytes that are no UTF-8 are replaced by U+FFFD. A search cuts lines at 8 KiB."""
    offset: int = Field(examples=[0])
    """First byte of the part."""
    next: int = Field(examples=[34])
    """First byte behind the part: `offset` of the next request."""
    size: int = Field(examples=[34])
    """Bytes of the log when it was read."""
    note: str | None = Field(default=None, examples=["the search read the last 67,108,864 of 3,221,225,472 bytes"])
    """Why a search ended before it had read the whole log, as a sentence; null if it read all, and without a search."""
    names_ranks: bool | None = Field(default=None, examples=[True])
    """Whether lines that a search read name their rank; null without a search."""
