"""The loss."""

from torch import nn

from contract.spec.choices.data import Sentences
from contract.spec.run import RunSpec
from trainers.data.text.vocabulary import PADDING
from trainers.losses.cross_entropy import CrossEntropy
from trainers.losses.heads import Heads
from trainers.losses.loss import Loss
from trainers.losses.translation import Translation


def loss(run: RunSpec, model: nn.Module) -> Loss:
    """What training makes small; a net with auxiliary heads says by `aux_weight` how much they count."""
    one_head: Loss = CrossEntropy(label_smoothing=run.label_smoothing)
    if isinstance(run.data, Sentences):
        one_head = Translation(padding=PADDING, label_smoothing=run.label_smoothing)
    weight = getattr(model, "aux_weight", None)
    return one_head if weight is None else Heads(one_head, weight=weight)
