"""Build the task, which evaluates the model's outputs."""

from math import prod

from contract.spec.choices.data import Sentences
from contract.spec.run import RunSpec
from trainers.data.text.vocabulary import PADDING
from trainers.tasks.classification import Classification
from trainers.tasks.task import Task
from trainers.tasks.translation import Translation


def build_task(run: RunSpec) -> Task:
    """Return the task of the run's data."""
    return Translation(padding=PADDING) if isinstance(run.data, Sentences) else Classification()


def numbers_per_sample(run: RunSpec) -> int:
    """Return the number of values per sample: an image's pixels in all channels, or a sentence's logits."""
    if isinstance(run.data, Sentences):
        return (run.data.max_length + 1) * run.data.vocabulary
    return prod(run.data.shape)
