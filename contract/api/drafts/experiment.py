"""The API's response about an experiment that is not stored: the runs that it would have."""

from pydantic import Field

from contract.api.responses import VALUES
from contract.described_model import DescribedModel
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import Values


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
