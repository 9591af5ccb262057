"""Requests and responses of searches: sweeps whose trials a sampler chooses."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from contract.described_model import DescribedModel
from contract.lifecycle.trial import EndCause, TrialStatus
from contract.spec.numbers import Positive
from contract.spec.search.samplers import MAX_TRIALS
from contract.spec.search.search import SearchSpec

MOMENT = "2026-11-26T08:00:00Z"
PARAMS = {"schedule.rate": 2.31}
SearchStatus = Literal["running", "paused", "ended"]


class Lineage(DescribedModel):
    """A trial as a generation of a member of a population."""

    member: int = Field(examples=[3])
    """Number of the member, from 0."""
    generation: int = Field(examples=[2])
    """Number of the member's generation, from 0."""
    parent: int | None = Field(examples=[9])
    """Number of the trial whose weights it began with; null if it began as the base run does."""
    copied: bool = Field(examples=[True])
    """Whether these are another member's weights."""


class TrialView(DescribedModel):
    """A trial of a search."""

    number: int = Field(examples=[4])
    """Number of the trial, from 0."""
    params: dict[str, Any] = Field(examples=[PARAMS])
    """The values of the parameters, by dotted path; a parameter whose conditions do not hold is absent."""
    status: TrialStatus
    """How far the trial is."""
    value: float | None = Field(examples=[0.983])
    """Value of the metric; null: there is none yet, or the trial failed or diverged and counts as the worst."""
    rungs: list[float | None] = Field(examples=[[0.41, 0.87]])
    """Its value at each comparison; null: the value there was not finite."""
    bracket: int = Field(examples=[0])
    """Bracket of Hyperband, from 0; 0 without Hyperband."""
    lineage: Lineage | None
    """The member and the generation of population-based training; null with other samplers."""
    run_ids: list[int] = Field(examples=[[42]])
    """Ids of its runs; several are repeats."""
    message: str | None = Field(examples=["a run of it failed"])
    """Why it failed or was stopped; null if its status says all."""
    asked_at: datetime = Field(examples=[MOMENT])
    """When the sampler chose its values."""
    ended_at: datetime | None = Field(examples=[MOMENT])
    """When its end was stored; null before."""


class BestSoFar(DescribedModel):
    """A trial that was better than all that had ended before."""

    number: int = Field(examples=[4])
    """Number of the trial."""
    at: datetime = Field(examples=[MOMENT])
    """When its end was stored."""
    value: float = Field(examples=[0.983])
    """Its value."""


class SearchDetail(DescribedModel):
    """A search with its trials."""

    experiment_id: int = Field(examples=[17])
    """Id of the experiment."""
    status: SearchStatus = Field(examples=["running"])
    """Whether the search goes on, is paused or has ended."""
    end_cause: EndCause | None = Field(examples=["trials"])
    """Why the search ended; null before."""
    spec: SearchSpec
    """The search, with the number of trials and the budget to which it was extended."""
    maximizes: bool = Field(examples=[True])
    """Whether a higher value is better."""
    wanted: int = Field(examples=[30])
    """Number of trials that there shall be."""
    counts: dict[TrialStatus, int] = Field(examples=[{"running": 2, "done": 5}])
    """Number of trials in each status; a status without trials is absent."""
    used_rank_hours: float = Field(examples=[1.25])
    """Hours that the runs have used, each times its ranks."""
    resources: list[list[float]] = Field(examples=[[[1.0, 3.0, 9.0]]])
    """Resources of the comparisons, by bracket; empty lists without early stopping."""
    best: TrialView | None
    """The trial with the best value; null before the first value."""
    best_so_far: list[BestSoFar]
    """The trials that were better than all before, in the order of their ends."""
    importance: dict[str, float] = Field(examples=[{"schedule.rate": 0.9, "batch": 0.1}])
    """Each parameter's share of what makes trials good (PED-ANOVA), the largest first; empty for few trials."""
    trials: list[TrialView]
    """All trials, in their order."""


class SearchExtension(DescribedModel):
    """What a search gets more of."""

    model_config = ConfigDict(extra="forbid", strict=True)

    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] | None = Field(default=None, examples=[60])
    """The new total number of trials; null: as before."""
    rank_hours: Positive | None = Field(default=None, examples=[200.0])
    """The new budget in rank-hours; null: as before."""


class SearchChanged(DescribedModel):
    """The result of a request to pause, resume or extend a search."""

    experiment_id: int = Field(examples=[17])
    """Id of the experiment."""
    status: SearchStatus = Field(examples=["paused"])
    """Whether the search goes on, is paused or has ended."""
    wanted: int = Field(examples=[30])
    """Number of trials that there shall be."""
    changed: bool = Field(examples=[True])
    """Whether the request changed anything."""
