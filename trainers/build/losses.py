"""Build the loss."""

from typing import assert_never

import torch
from torch import nn

from contract.spec.choices import losses as choices
from contract.spec.choices.data import Sentences, Text, Tokens
from contract.spec.run import RunSpec
from trainers.build.imported import make_callable
from trainers.data.text.vocabulary import PADDING
from trainers.generators.seeds import alike
from trainers.losses import (
    CheckedLoss,
    CrossEntropy,
    Heads,
    LeastOutputs,
    Loss,
    OwnLoss,
    TokenCrossEntropy,
    Translation,
)
from trainers.tensor.cross_entropy import ShardedCrossEntropy
from trainers.tensor.mesh import Mesh


def build_loss(run: RunSpec, model: nn.Module, mesh: Mesh | None = None) -> Loss:
    """Return the loss, of logits that are cut over the ranks of `mesh` if there is one.

    A model with auxiliary heads has their weight in the attribute `aux_weight`.
    """
    if mesh is not None:
        return ShardedCrossEntropy(mesh)
    one_head = _build_for_one_head(run, model)
    weight = getattr(model, "aux_weight", None)
    loss = one_head if weight is None else Heads(one_head, weight=weight)
    least = least_outputs(run)
    return loss if least is None else CheckedLoss(loss, least)


def least_outputs(run: RunSpec) -> LeastOutputs | None:
    """Return how many outputs the data need; None: the user's own loss decides."""
    if isinstance(run.loss, choices.ImportedLoss):
        return None
    if isinstance(run.data, Tokens):
        return LeastOutputs(run.data.vocabulary, -1, f"a vocabulary of {run.data.vocabulary}")
    classes = run.data.classes
    return None if classes is None else LeastOutputs(classes, 1, f"{classes} classes")


def _build_for_one_head(run: RunSpec, model: nn.Module) -> Loss:
    match run.loss:
        case choices.ImportedLoss():
            return build_own_loss(run.loss, next(model.parameters()).device, seed=run.seed)
        case choices.CrossEntropy() if isinstance(run.data, Sentences):
            return Translation(padding=PADDING, label_smoothing=run.label_smoothing)
        case choices.CrossEntropy() if isinstance(run.data, Text):
            return TokenCrossEntropy(label_smoothing=run.label_smoothing)
        case choices.CrossEntropy():
            return CrossEntropy(label_smoothing=run.label_smoothing)
        case _:
            assert_never(run.loss)


def build_own_loss(choice: choices.ImportedLoss, device: torch.device, *, seed: int) -> Loss:
    """Return a user's loss; raise ValueError if it has weights, which no optimizer would train."""
    with alike(seed, "loss"):
        loss = make_callable(choice.function, **choice.options)
    if isinstance(loss, nn.Module):
        if weights := [name for name, _ in loss.named_parameters()]:
            raise ValueError(f"the loss of {choice.function} has the parameter {weights[0]}: put it into the model")
        loss = loss.to(device)
    return OwnLoss(loss, name=choice.function)
