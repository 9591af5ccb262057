"""Points that clients send: numbered batches, so that a batch that is sent twice is stored once."""

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from contract.described_model import DescribedModel
from contract.folder.bounds import MAX_VALUES, Int4, MetricName
from contract.spec.labels import LINE_OR_EMPTY

MAX_BATCH_POINTS = 200_000
MAX_WRITERS = 256  # of one run
WriterName = Annotated[str, Field(max_length=100, pattern=LINE_OR_EMPTY)]


class NewPoints(DescribedModel):
    """Points of one series as two columns."""

    model_config = ConfigDict(extra="forbid")

    steps: list[Int4] = Field(examples=[[1, 2, 3]])
    """The steps. Of a step that occurs more than once, and of one that is stored already, the later value counts."""
    values: list[float | None] = Field(examples=[[2.31, 2.18, None]])
    """The value at each step; "NaN", "Infinity" and "-Infinity" are values too, and null is NaN."""

    @model_validator(mode="after")
    def _equally_long(self) -> "NewPoints":
        if len(self.steps) != len(self.values):
            raise ValueError(f"{len(self.steps):,} steps and {len(self.values):,} values are not equally many")
        return self


class PointsBatch(DescribedModel):
    """One batch of points of a run."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="strings")

    sequence: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(examples=[1])
    """Number of the batch: 1 for the writer's first one, then one more for each."""
    writer: WriterName = Field(default="", examples=["rank-0"])
    """Who numbers the batches: several processes that send points of one run have names of their own."""
    series: Annotated[dict[MetricName, NewPoints], Field(max_length=MAX_VALUES)] = Field(
        examples=[{"loss": {"steps": [1, 2], "values": [2.31, 2.18]}}]
    )
    """The new points of each series, by its name."""

    @model_validator(mode="after")
    def _not_too_many(self) -> "PointsBatch":
        if (count := sum(len(one.steps) for one in self.series.values())) > MAX_BATCH_POINTS:
            raise ValueError(f"{count:,} points are more than the {MAX_BATCH_POINTS:,} of a batch: send several")
        return self


class PointsReceived(DescribedModel):
    """What became of a batch."""

    stored: bool = Field(examples=[True])
    """Whether the batch is stored by this request; false: it was stored before, and nothing has changed."""
    next: int = Field(examples=[2])
    """Number of the writer's next batch."""


class Writers(DescribedModel):
    """The writers of a run, so that a client that lost its place can go on."""

    next: dict[str, int] = Field(examples=[{"rank-0": 17}])
    """The number of each writer's next batch, by the writer's name; another writer begins with 1."""
