"""Build the loss."""

from torch import nn

from contract.spec.choices.data import Sentences
from contract.spec.run import RunSpec
from trainers.data.text.vocabulary import PADDING
from trainers.losses.cross_entropy import CrossEntropy
from trainers.losses.heads import Heads
from trainers.losses.loss import Loss
from trainers.losses.translation import Translation


def build_loss(run: RunSpec, model: nn.Module) -> Loss:
    """Return the loss; a model with auxiliary heads has their weight in the attribute `aux_weight`."""
    one_head: Loss = CrossEntropy(label_smoothing=run.label_smoothing)
    if isinstance(run.data, Sentences):
        one_head = Translation(padding=PADDING, label_smoothing=run.label_smoothing)
    weight = getattr(model, "aux_weight", None)
    return one_head if weight is None else Heads(one_head, weight=weight)
