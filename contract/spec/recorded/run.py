"""The spec of a run that was carried out elsewhere: nothing starts it, and its points are sent or imported."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.labels import LINE_OR_EMPTY

ELSEWHERE = "elsewhere"  # in place of a cluster's name: no cluster of a service has it
MAX_PARAMETERS = 1_000
Source = Annotated[str, Field(min_length=1, max_length=500, pattern=LINE_OR_EMPTY)]
RecordedName = Annotated[str, Field(max_length=250, pattern=LINE_OR_EMPTY)]
ParameterName = Annotated[str, Field(min_length=1, max_length=250, pattern=LINE_OR_EMPTY)]
ParameterValue = (
    bool
    | Annotated[int, Field(ge=-(2**63), lt=2**63)]
    | float
    | Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]
    | None
)
RecordedParameters = Annotated[dict[ParameterName, ParameterValue], Field(max_length=MAX_PARAMETERS)]


class RecordedSpec(Spec):
    """A run that was carried out elsewhere."""

    kind: Literal["recorded"] = "recorded"
    source: Source = Field(examples=["TensorBoard: /data/logs"])
    """Where the run comes from."""
    name: RecordedName = Field(default="", examples=["resnet/lr-0.1"])
    """Name of the run at its source."""
    parameters: RecordedParameters = Field(default={}, examples=[{"lr": 0.1, "optimizer": "lars"}])
    """Parameters of the run."""

    @property
    def names_own_metrics(self) -> bool:
        """Whether the user's program named all metrics: it did."""
        return True


class RecordedExperiment(Spec):
    """An experiment whose runs were carried out elsewhere; it has no grid, and each run has its own parameters."""

    name: str = Field(examples=["imported logs"])
    """Name of the experiment."""
    description: str = Field(default="", examples=["Runs of the old cluster."])
    """Text for people."""
    notes: str = Field(default="", examples=["Compare with experiment 12."])
    """Notes on the experiment, in Markdown."""
    owner: str | None = Field(default=None, examples=["ada"])
    """Owner of the experiment."""
    project: str = Field(default="", examples=["vision"])
    """Project of the experiment."""
    tags: list[str] = Field(default=[], examples=[["imported"]])
    """Tags of the experiment."""
    base: RecordedSpec
    """What all runs have in common: their source."""
    axes: dict[str, list[float]] = Field(default={}, max_length=0, examples=[{}])
    """Always empty."""
    variants: list[dict[str, float]] = Field(default=[], max_length=0, examples=[[]])
    """Always empty."""
    max_parallel: None = Field(default=None, examples=[None])
    """Always null."""
    pack: None = Field(default=None, examples=[None])
    """Always null."""
