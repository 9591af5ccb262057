"""Build the task, which evaluates the model's outputs."""

import math
from math import prod

import torch

from contract import metric_names
from contract.spec.choices.data import Bodies, Sentences, Text, Tokens
from contract.spec.choices.losses import ImportedLoss
from contract.spec.choices.models import UNet3D
from contract.spec.run import RunSpec
from trainers.build.imported import make_callable
from trainers.build.losses import build_own_loss, least_outputs
from trainers.data.text.vocabulary import PADDING
from trainers.generators.seeds import alike
from trainers.own_metrics import OwnMetrics
from trainers.tasks import CheckedTask, Classification, LanguageModel, OwnTask, Segmentation, Task, Translation
from trainers.tensor.cross_entropy import ShardedLanguageModel
from trainers.tensor.mesh import Mesh


def build_task(run: RunSpec, device: torch.device, mesh: Mesh | None = None) -> Task:
    """Return the task of the run's data and loss; `mesh`: of the ranks over which logits are cut."""
    if mesh is not None:
        return ShardedLanguageModel(mesh)
    task, least = _build_unchecked(run, device), least_outputs(run)
    return task if least is None else CheckedTask(task, least)


def _build_unchecked(run: RunSpec, device: torch.device) -> Task:
    if isinstance(run.loss, ImportedLoss):
        has_classes = not isinstance(run.data, Tokens | Bodies) and run.data.classes is not None
        return OwnTask(build_own_loss(run.loss, device, seed=run.seed), has_classes=has_classes)
    if isinstance(run.data, Text):
        return LanguageModel()
    if isinstance(run.data, Bodies) or isinstance(run.model, UNet3D):
        return Segmentation()
    return Translation(padding=PADDING) if isinstance(run.data, Sentences) else Classification()


def build_metrics(run: RunSpec) -> OwnMetrics:
    """Return the user's own metrics."""
    with alike(run.seed, "metrics"):
        return OwnMetrics({name: make_callable(one.function, **one.options) for name, one in run.metrics.items()})


def measures_of_loss(run: RunSpec, loss: float) -> dict[str, float]:
    """Return what the held-out loss of a language model says in other units; nothing for other nets."""
    if not isinstance(run.data, Text) or isinstance(run.loss, ImportedLoss):
        return {}
    # an exponent above 700 exceeds float64
    return {
        metric_names.HELDOUT_PERPLEXITY: math.exp(min(loss, 700.0)),
        metric_names.HELDOUT_BITS_PER_BYTE: loss / math.log(2),
    }


def loss_terms(run: RunSpec) -> int:
    """Return how many losses a sample's loss is the mean of: one for each token of a text or voxel of a volume.

    A pair of sentences has the sum over its tokens, so 1; a user's own loss counts as one.
    """
    if isinstance(run.loss, ImportedLoss):
        return 1
    if isinstance(run.data, Text):
        return run.data.context
    is_segmentation = isinstance(run.data, Bodies) or isinstance(run.model, UNet3D)
    return prod(run.data.shape[1:]) if is_segmentation and not isinstance(run.data, Sentences) else 1


def numbers_per_sample(run: RunSpec) -> int:
    """Return the number of values per sample: an image's pixels in all channels, or a text's logits."""
    if isinstance(run.data, Sentences):
        return (run.data.max_length + 1) * run.data.vocabulary
    if isinstance(run.data, Text):
        return run.data.context * run.data.vocabulary
    return prod(run.data.shape)
