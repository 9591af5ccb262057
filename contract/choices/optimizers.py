"""What one replica does with its gradient."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec
from contract.numbers import Fraction, NonNegative, Positive


class SGD(Spec):
    """Stochastic gradient descent with momentum, as torch.optim.SGD has it."""

    kind: Literal["sgd"] = "sgd"
    momentum: Fraction = 0.9
    weight_decay: NonNegative = 0.0
    nesterov: bool = False


class LARS(Spec):
    """Layer-wise adaptive rate scaling (You et al., 2017, Algorithm 1)."""

    kind: Literal["lars"] = "lars"
    momentum: Fraction = 0.9
    weight_decay: NonNegative = 0.0005
    trust_coefficient: Positive = 0.001  # eta
    skip: Literal["none", "bias_and_norm", "one_dimensional"] = "bias_and_norm"  # these take plain momentum SGD


Optimizer = Annotated[SGD | LARS, Field(discriminator="kind")]
