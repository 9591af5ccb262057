"""The API's responses for a page that writes an experiment: what it would be, its scripts and starts, and recipes."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from contract.api.responses import VALUES
from contract.described_model import DescribedModel
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import Values

MOST_KINDS = 3  # of jobs that one draft asks about: each is a call of Slurm


class DraftRun(DescribedModel):
    """A run that an experiment would have."""

    number: int = Field(examples=[0])
    """Index in the experiment's grid, from 0."""
    step_name: str | None = Field(examples=["train"])
    """Name of the run's step; null without steps."""
    values: Values = Field(examples=[VALUES])
    """The value of each field that the grid sets, by dotted path; empty without axes and variants."""
    cluster: str = Field(examples=["slurm"])
    """The cluster of the run's jobs."""
    world: int = Field(examples=[8])
    """Number of ranks that train together, over all nodes."""
    steps: int = Field(examples=[4875])
    """Number of steps of the whole run."""


class DraftStep(DescribedModel):
    """A step that a workflow would have."""

    name: str = Field(examples=["train"])
    """Name of the step."""
    needs: list[str] = Field(examples=[["prepare"]])
    """Names of the steps that must end before, also of those to which it only refers."""
    runs: int | None = Field(examples=[3])
    """Number of its runs; null: an earlier step writes the list of which each value is a run."""


class ExperimentDraft(DescribedModel):
    """What a request with `dry_run` would store."""

    spec: ExperimentSpec
    """The complete spec, with all defaults."""
    runs: list[DraftRun]
    """The runs, in the order of the grid; of a workflow those that are known before any step has ended."""
    steps: list[DraftStep]
    """The steps of a workflow, in the order of the spec; empty without steps."""


class Scripts(DescribedModel):
    """What a submission would hand to the cluster."""

    text: str = Field(examples=["#!/bin/bash\n#SBATCH --nodes=2\n"])
    """Each point of the grid, and the batch scripts, as `bigbatch dry-run` prints them."""


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


class LastTime(DescribedModel):
    """The newest experiment with a recipe's name whose runs are all done."""

    experiment_id: int = Field(examples=[17])
    """Id of the experiment."""
    seconds: float = Field(examples=[14.2])
    """Seconds from the start of its first run to the end of its last one."""


class Recipe(DescribedModel):
    """A spec of the folder `recipes`."""

    name: str = Field(examples=["first-run"])
    """Name of the file, without its suffix."""
    title: str = Field(examples=["first-run"])
    """Name of the experiment."""
    description: str = Field(examples=["Real handwritten digits, a batch of 256 over four ranks of this machine."])
    """What the experiment shows."""
    clusters: list[str] = Field(examples=[["local"]])
    """Where its runs are carried out: `local`, `slurm`."""
    runs: int = Field(examples=[1])
    """Number of runs."""
    ranks: int = Field(examples=[4])
    """The most ranks of a run."""
    text: str = Field(examples=["name: first-run\nbase:\n  batch: 256\n"])
    """The whole file, as YAML."""
    last: LastTime | None
    """How long it took here; null if no experiment with this title is done."""
