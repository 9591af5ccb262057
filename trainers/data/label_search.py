"""Search for labels that are no classes before the first step, since a run would otherwise meet them after hours.

A set that shows its labels in an attribute is searched as a whole. Of any other set the ranks read as many samples as a
short time allows, each rank others. Every batch of the run is checked anyway (labels.py).
"""

from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Subset, TensorDataset

from trainers.data.sample_split import SampleSplit
from trainers.data.sampler import permutation

LIMIT_S = 0.5  # of each of the two sets
ATTRIBUTES = ("targets", "labels")  # of the data sets of torchvision and of many users


def search_labels(split: SampleSplit, *, rank: int = 0, world: int = 1, limit_s: float = LIMIT_S) -> None:
    """Raise ValueError, which names the sample, if a label is found that is no class."""
    if split.classes is None or _are_shown_and_right(split):
        return
    end_s = perf_counter() + limit_s
    # in random order, because the samples of many sets are sorted by their classes
    for number in permutation(len(split), seed=split.seed, epoch=0)[rank::world]:
        split.batch(number[None])
        if perf_counter() >= end_s:
            return


def shown_labels(dataset: Any) -> Tensor | None:
    """Return label_N of a set of torch or with an attribute for them; None if there is no whole number per sample."""
    if isinstance(dataset, Subset):
        of_all = shown_labels(dataset.dataset)
        return None if of_all is None else of_all[torch.tensor(list(dataset.indices), dtype=torch.int64)]
    if isinstance(dataset, TensorDataset):
        return _numbers(dataset.tensors[-1], len(dataset))
    found = (_numbers(_attribute(dataset, name), len(dataset)) for name in ATTRIBUTES)
    return next((label_N for label_N in found if label_N is not None), None)


def _attribute(dataset: Any, name: str) -> Any:
    try:
        return getattr(dataset, name, None)
    except Exception:  # a property of the user's class, of which the run needs nothing
        return None


def _numbers(shown: Any, samples: int) -> Tensor | None:
    if not isinstance(shown, Tensor | np.ndarray | list | tuple) or len(shown) != samples:
        return None
    try:
        label_N = shown if isinstance(shown, Tensor) else torch.tensor(shown)
    except (TypeError, ValueError, RuntimeError):  # names of classes, for example
        return None
    is_whole = label_N.dim() == 1 and not label_N.is_floating_point() and not label_N.is_complex()
    return label_N.cpu().long() if is_whole else None


def _are_shown_and_right(split: SampleSplit) -> bool:
    """Return whether the set shows its labels and all are classes.

    The samples may have other labels than the attribute, such as those of torchvision's `target_transform`. So the
    samples with the least and the largest label are read, which also raises the error if one of these is no class.
    """
    label_N = shown_labels(split.dataset)
    if label_N is None:
        return False
    number_3 = torch.stack([torch.tensor(0), label_N.argmin(), label_N.argmax()])
    _, target_3 = split.batch(number_3)
    return torch.equal(target_3, label_N[number_3])
