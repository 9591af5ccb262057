"""The spec of a search: the space of its parameters, the sampler that chooses trials, and when trials end."""

from typing import Annotated, Literal

from pydantic import Field

from contract.metric_direction import is_better_when_higher
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.base import Spec
from contract.spec.numbers import Positive
from contract.spec.search.early_stopping import EarlyStopping, NoStopping
from contract.spec.search.parameters import Parameter
from contract.spec.search.samplers import MAX_TRIALS, ListSampler, PopulationSampler, Sampler
from contract.spec.search.space import finite_points

Goal = Literal["maximize", "minimize"]


class Repeats(Spec):
    """Several runs of each trial with different seeds; the value of the trial combines theirs."""

    times: Annotated[int, Field(ge=2, le=100)] = Field(examples=[3])
    """Number of runs of each trial."""
    path: Annotated[str, Field(min_length=1, max_length=500)] = Field(default="seed", examples=["parameters.seed"])
    """The field that differs: the number of the base run, then the following numbers."""
    combine: Literal["mean", "median", "worst"] = "mean"
    """The value of a trial: the mean, the median or the worst of the values of its runs."""


class Budget(Spec):
    """What a search may use."""

    rank_hours: Positive = Field(examples=[100.0])
    """Hours of its runs, each times its ranks. With the last hour used, its runs are stopped and the search ends."""


class SearchSpec(Spec):
    """A search: trials whose values a sampler chooses from a space, one run each (or several, that are repeats)."""

    space: dict[str, Parameter] = Field(
        examples=[{"schedule.rate": {"kind": "log_uniform", "low": 0.1, "high": 10.0}}],
    )
    """The parameters: for each dotted path of a run's field the distribution of its values."""
    sampler: Sampler
    """How the values of the next trial are chosen."""
    metric: Annotated[str, Field(min_length=1, max_length=200)] = HELDOUT_ACCURACY
    """Name of the series that decides."""
    value: Literal["best", "last"] = "best"
    """Which value of the series is the trial's: the best one of its curve, or the last one."""
    goal: Goal | None = Field(default=None, examples=["maximize"])
    """Whether a higher or a lower value is better; null: by the name of the metric."""
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] | None = Field(default=None, examples=[30])
    """Number of trials; null: the whole grid or list."""
    at_once: Annotated[int, Field(ge=1, le=1000)] = 4
    """Most trials at the same time."""
    repeats: Repeats | None = None
    """Several runs of each trial; null: one run."""
    early_stopping: EarlyStopping = NoStopping()
    """Which trials end before their last step."""
    budget: Budget | None = None
    """What the search may use; null: no limit."""

    @property
    def maximizes(self) -> bool:
        """Whether a higher value is better."""
        return is_better_when_higher(self.metric) if self.goal is None else self.goal == "maximize"

    @property
    def size(self) -> int:
        """The number of trials."""
        most = self.available
        wanted = MAX_TRIALS if self.trials is None else self.trials
        return wanted if most is None else min(wanted, most)

    @property
    def available(self) -> int | None:
        """The number of points of a grid, a list or a space of few points; None if there is no end of them."""
        if isinstance(self.sampler, ListSampler):
            return len(self.sampler.points)
        if isinstance(self.sampler, PopulationSampler):
            return None  # members may have equal values, and train on with the same
        points = finite_points(self.space)
        return None if points is None else len(points)

    @property
    def runs_per_trial(self) -> int:
        """The number of runs of each trial."""
        return self.repeats.times if self.repeats else 1
