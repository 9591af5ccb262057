"""The checkpoints in a run's folder, also of a run that goes on."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel


class CheckpointView(DescribedModel):
    """A checkpoint of an engine run, or a file or folder that a program left among its checkpoints."""

    name: str = Field(examples=["step-0000001200-attempt-2"])
    """Name in the folder `checkpoints` of the run."""
    step: int | None = Field(examples=[1200])
    """The last step that it contains; null for what a program wrote."""
    attempt: int | None = Field(examples=[2])
    """The attempt that wrote it; null for what a program wrote."""
    is_complete: bool = Field(examples=[True])
    """Whether a run can resume from it; false: it is being written, or its save was interrupted."""
    size_bytes: int = Field(examples=[205000000])
    """Bytes of the file, or of the files directly in the folder."""
    written_at: datetime = Field(examples=["2026-11-23T08:00:00Z"])
    """When it was last written, by the clock of its file system."""


class RunCheckpoints(DescribedModel):
    """The newest checkpoints of a run."""

    items: list[CheckpointView]
    """The checkpoints, the newest first, at most 20."""
    total: int = Field(examples=[2])
    """Number of checkpoints in the folder."""
    folder: str = Field(examples=["/shared/bigbatch/runs/000042-1f0c9a2b3d4e/checkpoints"])
    """The folder on the cluster's file system."""
