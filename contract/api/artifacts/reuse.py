"""The API's response about the result that a run took, or why it took none."""

from pydantic import Field

from contract.api.artifacts.views import EXAMPLE_SHA
from contract.api.reproduction import ValueDifference
from contract.api.snapshots import SnapshotDifferences
from contract.described_model import DescribedModel


class InputDifference(DescribedModel):
    """An input whose content differs."""

    name: str = Field(examples=["data"])
    """Name of the input."""
    path: str | None = Field(examples=["/data/train.tsv"])
    """Its path in the run; null if only the other run has it."""
    first: str | None = Field(examples=[EXAMPLE_SHA])
    """Hash of the content that the run read; null if it is not known."""
    second: str | None = Field(examples=["5e" * 32])
    """Hash of the content that the other run read; null if it is not known."""


class RunReuse(DescribedModel):
    """Whether a run took a finished run's result, and if not, how it differs from the nearest finished run."""

    asked: bool = Field(examples=[True])
    """Whether the run's spec has `reuse: true`."""
    taken_from: int | None = Field(examples=[None])
    """Id of the run whose result it took; null if it was carried out itself."""
    sentence: str = Field(examples=["carried out: train.py line 40 differs from run 12"])
    """The answer in one sentence."""
    nearest: int | None = Field(examples=[12])
    """Id of the finished run that differs least; null if there is none."""
    spec: list[ValueDifference]
    """Fields of the specs that differ and decide what the runs compute."""
    code: SnapshotDifferences | None
    """Files of the code snapshots that differ; null if none do."""
    inputs: list[InputDifference]
    """Inputs whose contents differ."""
