"""The API's response about the files that a program wrote."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel

MOMENT = "2026-11-23T08:00:00Z"


class FileView(DescribedModel):
    """A file that a run's program wrote."""

    path: str = Field(examples=["work/lightning_logs/version_0/checkpoints/last.ckpt"])
    """Path in the run's folder, for a download."""
    size_bytes: int = Field(examples=[102_400])
    """Its size."""
    written_at: datetime = Field(examples=[MOMENT])
    """When it was last written, by the clock of the file's server."""


class SubmittedJobView(DescribedModel):
    """A job that a run's program submitted to Slurm itself."""

    id: int = Field(examples=[4321])
    """Slurm's number of the job, or of the array."""
    submitted_at: datetime = Field(examples=[MOMENT])
    """When sbatch returned it."""


class RunFiles(DescribedModel):
    """What a run's program wrote into the run's folder, and the jobs that it submitted itself."""

    items: list[FileView]
    """The files that were written last, the newest first, at most 500."""
    total: int = Field(examples=[12])
    """The number of all files."""
    size_bytes: int = Field(examples=[1_048_576])
    """The size of all files."""
    is_cut: bool = Field(examples=[False])
    """Whether the folder has more files than the service looked at; then `total` and `size_bytes` are of a part."""
    folder: str = Field(examples=["/data/runs/000042-cafe"])
    """The run's folder on the service's host."""
    jobs: list[SubmittedJobView]
    """The jobs that the program submitted by `sbatch`, the newest first."""
