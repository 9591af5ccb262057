"""The labels of a user's data set, if it has them all at hand, so that no sample need be read."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, Subset, TensorDataset

NAMES = "targets", "labels"  # of the attribute, as torchvision's sets and those of users call it


def labels_at_hand(dataset: Any) -> Tensor | None:
    """Return the label of every sample, as the set has it, without transforms; None if they are not at hand."""
    if isinstance(dataset, Subset):
        every = labels_at_hand(dataset.dataset)
        return None if every is None else every[torch.as_tensor(dataset.indices, dtype=torch.int64)]
    if isinstance(dataset, ConcatDataset):
        parts = [labels for one in dataset.datasets if (labels := labels_at_hand(one)) is not None]
        fits = len(parts) == len(dataset.datasets) and len({(part.dtype, part.shape[1:]) for part in parts}) == 1
        return torch.cat(parts) if fits else None
    if isinstance(dataset, TensorDataset):
        return dataset.tensors[1] if len(dataset.tensors) == 2 else None
    for name in NAMES:
        labels = _as_tensor(getattr(dataset, name, None))
        if labels is not None and labels.dim() and len(labels) == len(dataset):
            return labels
    return None


def _as_tensor(labels: Any) -> Tensor | None:
    if isinstance(labels, Tensor | None):
        return labels
    if not isinstance(labels, list | tuple | np.ndarray):
        return None
    try:
        array = np.asarray(labels)
    except ValueError:  # lists of different lengths
        return None
    return torch.from_numpy(np.ascontiguousarray(array)) if array.dtype.kind in "biuf" else None
