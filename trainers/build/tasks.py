"""What the net is trained for."""

from math import prod

from contract.spec.choices.data import Sentences
from contract.spec.run import RunSpec
from trainers.data.text.vocabulary import PADDING
from trainers.tasks.classification import Classification
from trainers.tasks.task import Task
from trainers.tasks.translation import Translation


def task(run: RunSpec) -> Task:
    """How outputs on held-out samples are judged."""
    return Translation(padding=PADDING) if isinstance(run.data, Sentences) else Classification()


def numbers(run: RunSpec) -> int:
    """How many numbers a sample has: an image's pixels in all channels, a sentence's logits."""
    if isinstance(run.data, Sentences):
        return (run.data.max_length + 1) * run.data.vocabulary
    return prod(run.data.shape)
