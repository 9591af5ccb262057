"""Early stopping of trials: after which resource bad trials end, and which go on."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive
from contract.validation import ValidationIssue, validation_error

Unit = Literal["epochs", "steps", "seconds", "rank_seconds"]
Reduction = Annotated[int, Field(ge=2, le=100)]


class NoStopping(Spec):
    """Every trial goes on to its end."""

    kind: Literal["none"] = "none"


class MedianStopping(Spec):
    """Stop a trial whose value is worse than the median of the other trials at the same resource."""

    kind: Literal["median"] = "median"
    unit: Unit = "epochs"
    """Unit of the resource: `epochs` of an engine run, `steps`, `seconds` of training (the series trained_s), or
    `rank_seconds`: these seconds times the run's ranks."""
    first: Positive = Field(examples=[3.0])
    """Resource of the first comparison."""
    every: Positive | None = Field(default=None, examples=[1.0])
    """Resource between two comparisons; null: as much as `first`."""
    last: Positive | None = Field(default=None, examples=[27.0])
    """Resource of a whole trial; null: the epochs or steps of the run. Seconds and rank_seconds need it."""
    trials: Count = 5
    """Least number of other trials at this resource: with fewer, no trial is stopped."""


class _Halving(Spec):
    """The fields of successive halving."""

    unit: Unit = "epochs"
    """Unit of the resource: `epochs` of an engine run, `steps`, `seconds` of training (the series trained_s), or
    `rank_seconds`: these seconds times the run's ranks."""
    first: Positive = Field(examples=[1.0])
    """Resource of the first comparison, the first rung."""
    last: Positive | None = Field(default=None, examples=[27.0])
    """Resource of a whole trial; null: the epochs or steps of the run. Seconds and rank_seconds need it."""
    reduction: Reduction = 3
    """Factor of the resource from rung to rung; one of so many trials goes on."""

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.last is not None and self.last <= self.first:
            message = f"{self.last:g} is not above first, {self.first:g}"
            raise validation_error([ValidationIssue(path="last", message=message)])
        return self


class Asha(_Halving):
    """Asynchronous successive halving (Li et al., 2020): at each rung the best trials go on, whenever they come.

    A stopped trial keeps its checkpoint. It goes on from there as soon as it is among the best of its rung.
    """

    kind: Literal["asha"] = "asha"


class Hyperband(_Halving):
    """Hyperband (Li et al., 2018): several brackets of successive halving, which begin to compare at other rungs."""

    kind: Literal["hyperband"] = "hyperband"


EarlyStopping = Annotated[NoStopping | MedianStopping | Asha | Hyperband, Field(discriminator="kind")]
MAX_COMPARISONS = 1000  # of a trial, by the median


def rungs_of(rule: EarlyStopping, last: float | None, bracket: int = 0) -> list[float]:
    """Return the resources at which a trial is compared, ascending; `last`: that of a whole trial of the run."""
    match rule:
        case NoStopping():
            return []
        case MedianStopping(first=first, every=every):
            end, found, resource = rule.last or last or 0.0, list[float](), first
            while resource < end and len(found) < MAX_COMPARISONS:
                found.append(resource)
                resource = first + (every or first) * len(found)
            return found
        case _:
            end, found, resource = rule.last or last or 0.0, [], rule.first
            while resource < end:
                found.append(resource)
                resource *= rule.reduction
            return found[bracket:]


def brackets_of(rule: EarlyStopping, last: float | None) -> int:
    """Return the number of brackets: in the last one every trial goes on to its end."""
    return len(rungs_of(rule, last)) + 1 if isinstance(rule, Hyperband) else 1
