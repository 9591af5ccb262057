"""The objective of an experiment: which metric counts, which of its values are good, and which one is a run's."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.metric_direction import Direction, direction_of, is_better_when_higher
from contract.spec.base import Spec
from contract.spec.search.search import SearchSpec
from contract.validation import ValidationIssue, validation_error

Goal = Literal["min", "max"]
Which = Literal["last", "best"]
OBJECTIVE_EXAMPLE = {"metric": "val_loss", "goal": "min", "value": "best"}


class Objective(Spec):
    """What an experiment improves: lists, answers and tables call the run with the best value of it the best one."""

    metric: Annotated[str, Field(min_length=1, max_length=200)] = Field(examples=["val_loss"])
    """Name of the metric that counts."""
    goal: Goal | None = Field(default=None, examples=["min"])
    """Whether the least or the greatest value is the best one; null: as the name of the metric says."""
    value: Which = "best"
    """Which value of the metric is the run's: the best one of its curve, or the last one."""

    @property
    def maximizes(self) -> bool:
        """Whether a higher value is better."""
        return is_better_when_higher(self.metric) if self.goal is None else self.goal == "max"

    @property
    def known_goal(self) -> Goal:
        """The goal, also where it is left out."""
        return "max" if self.maximizes else "min"

    @property
    def text(self) -> str:
        """The objective in a message, as "val_loss (min, best)"."""
        return f"{self.metric} ({self.known_goal}, {self.value})"

    @model_validator(mode="after")
    def _check_goal(self) -> Self:
        if self.goal is None and direction_of(self.metric) is Direction.UNKNOWN:
            message = f"the name {self.metric!r} does not say whether higher or lower is better: write min or max"
            raise validation_error([ValidationIssue(path="goal", message=message)])
        return self


def best_value_of(metric: str) -> Objective:
    """Return the best value of a metric as an objective: the least one, unless the name says that higher is better."""
    return Objective(metric=metric, goal="max" if is_better_when_higher(metric) else "min")


def objective_of_search(search: SearchSpec) -> Objective:
    """Return what a search improves."""
    return Objective(metric=search.metric, goal="max" if search.maximizes else "min", value=search.value)


def objective_issues(objective: Objective | None, search: SearchSpec | None) -> Iterator[ValidationIssue]:
    """Yield an issue if an experiment has another objective than its search."""
    if objective is None or search is None:
        return
    of_search = objective_of_search(search)
    if of_search.text != objective.text:
        message = (
            f"the search improves {of_search.text}, and the objective is {objective.text}: leave the objective out, or "
            "write the same metric, goal and value in both"
        )
        yield ValidationIssue(path="objective", message=message)
