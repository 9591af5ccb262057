"""The learning rate over a run."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec
from contract.numbers import NonNegative, Positive


class Constant(Spec):
    """A linear warm-up, then one rate."""

    kind: Literal["constant"] = "constant"
    rate: Positive
    warmup_epochs: NonNegative = 0.0
    start_rate: NonNegative = 0.0


class Polynomial(Spec):
    """A linear warm-up from `start_rate`, then rate x (1 - t/T)^power, t and T counted from the run's start."""

    kind: Literal["polynomial"] = "polynomial"
    rate: Positive
    power: Positive = 2.0
    warmup_epochs: NonNegative = 0.0
    start_rate: NonNegative = 0.0


Schedule = Annotated[Constant | Polynomial, Field(discriminator="kind")]
