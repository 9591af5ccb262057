"""The spec of the optimizer."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Fraction, NonNegative, PositiveFactor

Exempt = Literal["none", "bias_and_norm", "one_dimensional"]  # parameters that are excluded


class SGD(Spec):
    """Stochastic gradient descent with momentum, as in torch.optim.SGD."""

    kind: Literal["sgd"] = "sgd"
    momentum: Fraction = 0.9
    weight_decay: NonNegative = 0.0
    no_weight_decay: Exempt = "none"
    nesterov: bool = False


class LARS(Spec):
    """Layer-wise adaptive rate scaling (You et al., 2017, Algorithm 1)."""

    kind: Literal["lars"] = "lars"
    momentum: Fraction = 0.9
    weight_decay: NonNegative = 0.0005
    trust_coefficient: PositiveFactor = 0.001  # eta
    epsilon: NonNegative = 0.0  # added to the denominator
    form: Literal["lars", "larc_scale", "larc_clip"] = (
        "lars"  # LARC: no weight decay in the denominator; larc_clip: at most the learning rate
    )
    skip: Exempt = "bias_and_norm"  # these parameters use momentum SGD without weight decay


class LAMB(Spec):
    """Adam with a layer-wise adaptive rate (You et al., 2020)."""

    kind: Literal["lamb"] = "lamb"
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    weight_decay: NonNegative = 0.01
    epsilon: NonNegative = 1e-6
    skip: Exempt = "bias_and_norm"  # these parameters use Adam without weight decay


Optimizer = Annotated[SGD | LARS | LAMB, Field(discriminator="kind")]
