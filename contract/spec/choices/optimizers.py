"""The spec of the optimizer."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.choices.imported import Imported
from contract.spec.numbers import Fraction, NonNegative, PositiveFactor

Exempt = Literal["none", "bias_and_norm", "one_dimensional"]


class SGD(Spec):
    """Stochastic gradient descent with momentum."""

    kind: Literal["sgd"] = "sgd"
    momentum: Fraction = 0.9
    """Factor of the momentum."""
    form: Literal["rate_outside", "rate_inside"] | None = Field(default=None, examples=["rate_inside"])
    """Where the rate is. rate_outside: v = m v + g, w = w - rate v, as in torch.optim.SGD; a new rate also scales the
    steps already in v. rate_inside: v = m v + rate g, w = w - v, as in Caffe and in the papers on EASGD and FireCaffe.
    null: rate_inside for the rule async_sgd, whose center has the velocity, else rate_outside."""
    weight_decay: NonNegative = 0.0
    """Factor of the weights that is added to the gradient."""
    no_weight_decay: Exempt = "none"
    """Parameters without weight decay."""
    nesterov: bool = False
    """Whether to use Nesterov momentum; needs a momentum above 0."""


class LARS(Spec):
    """Layer-wise adaptive rate scaling (You et al., 2017, Algorithm 1)."""

    kind: Literal["lars"] = "lars"
    momentum: Fraction = 0.9
    """Factor of the momentum."""
    weight_decay: NonNegative = 0.0005
    """Factor of the weights that is added to the gradient."""
    trust_coefficient: PositiveFactor = 0.001
    """Eta: factor of the ratio of the norms of weights and gradient."""
    epsilon: NonNegative = 0.0
    """Number that is added to the denominator of this ratio."""
    form: Literal["lars", "larc_scale", "larc_clip"] = "lars"
    """Form of the rate. LARC: no weight decay in the denominator; larc_clip: at most the learning rate."""
    skip: Exempt = "none"
    """Parameters that use momentum SGD at the schedule's rate, without weight decay. none, as the authors' Caffe: right
    for nets without normalization, whose exempt biases diverge at LARS's rates; bias_and_norm, as MLPerf's reference:
    for nets with normalization it was equal on small nets, at the best rate of each."""


class LAMB(Spec):
    """Adam with a layer-wise adaptive rate (You et al., 2020)."""

    kind: Literal["lamb"] = "lamb"
    beta1: Fraction = 0.9
    """Decay of the mean of the gradients."""
    beta2: Fraction = 0.999
    """Decay of the mean of the squared gradients."""
    weight_decay: NonNegative = 0.01
    """Factor of the weights that is added to Adam's update."""
    epsilon: NonNegative = 1e-6
    """Number that is added to the denominator of Adam's update."""
    skip: Exempt = "bias_and_norm"
    """Parameters that use Adam without weight decay. Adam's steps do not depend on the gradient's size, so this choice
    made no difference on small nets with and without normalization."""


class Adam(Spec):
    """Adam (Kingma & Ba, 2015) as in torch.optim.Adam."""

    kind: Literal["adam"] = "adam"
    beta1: Fraction = 0.9
    """Decay of the mean of the gradients."""
    beta2: Fraction = 0.999
    """Decay of the mean of the squared gradients."""
    weight_decay: NonNegative = 0.0
    """Factor of the weights that is added to the gradient."""
    no_weight_decay: Exempt = "none"
    """Parameters without weight decay."""
    epsilon: NonNegative = 1e-8
    """Number that is added to the denominator of the update."""


class AdamW(Spec):
    """Adam with decoupled weight decay (Loshchilov & Hutter, 2019) as in torch.optim.AdamW."""

    kind: Literal["adamw"] = "adamw"
    beta1: Fraction = 0.9
    """Decay of the mean of the gradients."""
    beta2: Fraction = 0.999
    """Decay of the mean of the squared gradients."""
    weight_decay: NonNegative = 0.01
    """Fraction of the weights, times the learning rate, by which a step shrinks them."""
    no_weight_decay: Exempt = "none"
    """Parameters without weight decay."""
    epsilon: NonNegative = 1e-8
    """Number that is added to the denominator of the update."""


class ImportedOptimizer(Imported):
    """A user's optimizer, such as `torch.optim:RMSprop`: the function gets groups of parameters and the options.

    It returns a torch.optim.Optimizer whose groups have `lr`, which the schedule sets before every step.
    """

    no_weight_decay: Exempt = "none"
    """Parameters in a group with `weight_decay` 0."""


EngineOptimizer = SGD | LARS | LAMB | Adam | AdamW
Optimizer = Annotated[EngineOptimizer | ImportedOptimizer, Field(discriminator="kind")]
