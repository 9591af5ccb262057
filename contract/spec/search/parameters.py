"""Parameters of a search: for each field of a run the distribution from which its values come."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from contract.spec.base import Spec
from contract.spec.grid.equal_values import value_key
from contract.spec.numbers import LARGEST, Positive
from contract.validation import ValidationIssue, validation_error

MAX_CHOICES = 1000
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Whole = Annotated[int, Field(ge=-(2**53), le=2**53)]


class _Parameter(Spec):
    """The fields of every parameter, and the check that the bounds are in order."""

    only_if: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default={}, examples=[{"optimizer.kind": ["lars", "lamb"]}]
    )
    """Conditions: the parameter is set only in trials in which each of these parameters of the kind `choice` has one
    of its listed values. Without conditions every trial sets it."""

    @model_validator(mode="after")
    def _check_parameter(self) -> Self:
        if issues := list(self._issues()):
            raise validation_error(issues)
        return self

    def _issues(self) -> Iterator[ValidationIssue]:
        low, high = getattr(self, "low", None), getattr(self, "high", None)
        if low is not None and high is not None and low >= high:
            yield ValidationIssue(path="high", message=f"{high:g} is not above low, {low:g}")


class Uniform(_Parameter):
    """A number between two bounds, each equally likely."""

    kind: Literal["uniform"] = "uniform"
    low: Number = Field(examples=[0.8])
    """The least value."""
    high: Number = Field(examples=[0.99])
    """The greatest value."""
    step: Positive | None = Field(default=None, examples=[0.05])
    """Distance between two values, from `low` on; null: every number. A grid needs it."""


class LogUniform(_Parameter):
    """A positive number between two bounds whose logarithm is equally likely, such as a learning rate."""

    kind: Literal["log_uniform"] = "log_uniform"
    low: Positive = Field(examples=[0.01])
    """The least value."""
    high: Positive = Field(examples=[10.0])
    """The greatest value."""


class Integer(_Parameter):
    """A whole number between two bounds, each equally likely."""

    kind: Literal["integer"] = "integer"
    low: Whole = Field(examples=[1])
    """The least value."""
    high: Whole = Field(examples=[8])
    """The greatest value."""
    step: Annotated[int, Field(ge=1, le=2**53)] = 1
    """Distance between two values, from `low` on."""


class LogInteger(_Parameter):
    """A positive whole number between two bounds whose logarithm is equally likely."""

    kind: Literal["log_integer"] = "log_integer"
    low: Annotated[int, Field(ge=1, le=2**53)] = Field(examples=[32])
    """The least value."""
    high: Annotated[int, Field(ge=1, le=2**53)] = Field(examples=[1024])
    """The greatest value."""


class Choice(_Parameter):
    """One of several values, which have no order."""

    kind: Literal["choice"] = "choice"
    values: Annotated[list[Any], Field(min_length=1, max_length=MAX_CHOICES)] = Field(examples=[["sgd", "lars"]])
    """The values: texts, numbers or parts of a spec."""

    def _issues(self) -> Iterator[ValidationIssue]:
        for number, value in enumerate(self.values):
            if any(value_key(value) == value_key(other) for other in self.values[:number]):
                yield ValidationIssue(path=f"values.{number}", message="this value is listed twice")


class Normal(_Parameter):
    """A number of the normal distribution, between bounds if there are any."""

    kind: Literal["normal"] = "normal"
    mean: Number = Field(examples=[0.9])
    """The mean."""
    deviation: Positive = Field(examples=[0.02])
    """The standard deviation."""
    low: Number | None = Field(default=None, examples=[0.8])
    """The least value; null: no bound."""
    high: Number | None = Field(default=None, examples=[0.99])
    """The greatest value; null: no bound."""


Parameter = Annotated[Uniform | LogUniform | Integer | LogInteger | Choice | Normal, Field(discriminator="kind")]


def has_value(parameter: Choice, value: Any) -> bool:
    """Return whether a value is one of the choices: 1 and true differ, 1 and 1.0 do not."""
    return any(value_key(value) == value_key(own) for own in parameter.values)
