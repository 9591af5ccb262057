"""When the jobs of a draft would start."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from contract.described_model import DescribedModel

MOST_KINDS = 3  # of jobs that one draft asks about: each is a call of Slurm


class PredictedStart(DescribedModel):
    """When the first job of one kind of a draft would start, if it were submitted now."""

    cluster: str = Field(examples=["slurm"])
    """The cluster, as `resources.kind` names it."""
    runs: int = Field(examples=[12])
    """Number of runs whose jobs ask for the same."""
    starts_at: datetime | None = Field(examples=["2026-11-27T13:40:00Z"])
    """The predicted moment; null: none is known."""
    source: Literal["sbatch", "report", "queue"]
    """Who predicts it: `sbatch --test-only`, the newest report of the cluster, or the queue of this machine."""
    text: str = Field(examples=["Slurm predicts it from the jobs that it knows now"])
    """A sentence about the prediction, or why there is none."""


class PredictedStarts(DescribedModel):
    """The predictions for a draft."""

    starts: list[PredictedStart]
    """One for each kind of job, in the order of the grid, at most three; of a workflow, of the steps known by now."""


class SlurmPrediction(DescribedModel):
    """What `sbatch --test-only` said of one batch script."""

    starts_at: datetime | None = Field(default=None, examples=["2026-11-27T13:40:00Z"])
    """The moment; null without one."""
    message: str = Field(default="", examples=["Requested node configuration is not available"])
    """Why there is no moment; empty with one."""
