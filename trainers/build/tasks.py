"""Build the task, which evaluates the model's outputs."""

from math import prod

import torch

from contract.spec.choices.data import Sentences
from contract.spec.choices.losses import ImportedLoss
from contract.spec.run import RunSpec
from trainers.build.imported import make_callable
from trainers.build.losses import build_own_loss
from trainers.data.text.vocabulary import PADDING
from trainers.tasks.classification import Classification
from trainers.tasks.own_metrics import OwnMetrics
from trainers.tasks.own_task import OwnTask
from trainers.tasks.task import Task
from trainers.tasks.translation import Translation


def build_task(run: RunSpec, device: torch.device) -> Task:
    """Return the task of the run's data and loss."""
    if isinstance(run.loss, ImportedLoss):
        has_classes = not isinstance(run.data, Sentences) and run.data.classes is not None
        return OwnTask(build_own_loss(run.loss, device), has_classes=has_classes)
    return Translation(padding=PADDING) if isinstance(run.data, Sentences) else Classification()


def build_metrics(run: RunSpec) -> OwnMetrics:
    """Return the user's own metrics."""
    return OwnMetrics({name: make_callable(one.function, **one.options) for name, one in run.metrics.items()})


def numbers_per_sample(run: RunSpec) -> int:
    """Return the number of values per sample: an image's pixels in all channels, or a sentence's logits."""
    if isinstance(run.data, Sentences):
        return (run.data.max_length + 1) * run.data.vocabulary
    return prod(run.data.shape)
