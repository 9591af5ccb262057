"""The loss."""

from torch import nn

from contract.spec import RunSpec
from trainers.losses.cross_entropy import CrossEntropy
from trainers.losses.heads import Heads
from trainers.losses.loss import Loss


def loss(run: RunSpec, model: nn.Module) -> Loss:
    """What training makes small; a net with auxiliary heads says by `aux_weight` how much they count."""
    one_head = CrossEntropy(label_smoothing=run.label_smoothing)
    weight = getattr(model, "aux_weight", None)
    return one_head if weight is None else Heads(one_head, weight=weight)
