"""A split of a map-style data set: `len(dataset)` samples, of which `dataset[i]` is (input, target)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate

from trainers.data.split import Batch, SamplesOf
from trainers.generators.sample_seed import sample_generators


@dataclass(frozen=True)
class SampleSplit:
    """The samples of `dataset`, in batches by torch's default_collate; `name` stands in error messages."""

    dataset: Any
    name: str
    seed: int
    epoch: int = 0
    classes: int | None = None  # if the targets are labels: their number

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def is_exchanged(self) -> bool:
        """Return False: every rank has the data set."""
        return False

    @property
    def constants(self) -> tuple[object, ...]:
        """Return the data set, which is the same in every epoch."""
        return (self.dataset,)

    def stage(self, epoch: int, samples_of: SamplesOf) -> "SampleSplit":
        """Return the same samples with the random numbers of an epoch."""
        return replace(self, epoch=epoch)

    def batch(self, index_B: Tensor) -> Batch:
        """Return the inputs and the targets.

        Raise TypeError if a sample is not a pair of an input and a target, and ValueError if a label is no class.
        """
        samples = []
        with sample_generators(self.seed, self.epoch) as seed_sample:
            for number in index_B.tolist():
                seed_sample(number)
                samples.append(self._sample(number))
        try:
            inputs, target = default_collate(samples)
        except (TypeError, RuntimeError) as error:
            raise TypeError(f"the samples of {self.name} do not form a batch: {error}") from error
        parts = tuple(inputs) if isinstance(inputs, list | tuple) else inputs
        if not all(isinstance(part, Tensor) for part in [target, *(parts if isinstance(parts, tuple) else [parts])]):
            message = "inputs and targets must be tensors, numbers, NumPy arrays, or tuples of them"
            raise TypeError(f"the samples of {self.name} do not form a batch of tensors: {message}")
        if self.classes is not None:
            target = to_labels(target, index_B, classes=self.classes, of=self.name)
        return parts, target

    def _sample(self, number: int) -> tuple[Any, Any]:
        sample = self.dataset[number]
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise TypeError(f"sample {number} of {self.name} is a {type(sample).__name__}, not a pair (input, target)")
        inputs, target = sample
        if self.classes is not None and isinstance(target, np.integer):
            target = int(target)  # torch makes no batch of some of NumPy's integers
        return inputs, target


def check_dataset(dataset: Any, name: str, *, samples: int) -> None:
    """Raise TypeError if `dataset` has no length or no index, and ValueError if it has another number of samples."""
    missing = [method for method in ("__len__", "__getitem__") if not hasattr(dataset, method)]
    if missing:
        raise TypeError(f"{name} is a {type(dataset).__name__} without {' and '.join(missing)}, not a data set")
    if len(dataset) != samples:
        raise ValueError(f"{name} has {len(dataset)} samples, and the spec states {samples}")


def check_sample(split: SampleSplit, shape: tuple[int, ...]) -> None:
    """Raise ValueError if the first sample has another shape than `shape`, or no class where the split has classes."""
    inputs, target = split.batch(torch.zeros(1, dtype=torch.int64))
    first = inputs[0] if isinstance(inputs, tuple) else inputs
    if tuple(first.shape[1:]) != shape:
        found, stated = list(first.shape[1:]), list(shape)
        raise ValueError(f"an input of {split.name} has the shape {found}, and the spec states {stated}")
    each = (1, *shape[1:]) if len(shape) == 4 and target.dim() > 1 else (1,)  # of a volume's voxels, or of the sample
    if split.classes is not None and target.shape != each:
        found = list(target.shape[1:])
        raise ValueError(
            f"a target of {split.name} is no number of a class but has the shape {found}, "
            f"and the spec states {split.classes} classes"
        )


IGNORED = "a label that is to be ignored needs an own loss and `classes: null`"


def to_labels(target_B: Tensor, number_B: Tensor, *, classes: int, of: str) -> Tensor:
    """Return the labels of a batch as int64, whatever type of integers they have.

    number_B: the numbers of the samples; of: the name of their set. Raise ValueError, which names the sample, if a
    label is no class: torch would ignore -100, so that other samples weigh more, and a GPU does not say what is wrong.
    """
    if target_B.is_floating_point() or target_B.is_complex():
        found = str(target_B.dtype).removeprefix("torch.")
        raise ValueError(f"a target of {of} is no number of a class but {found}, and the spec states {classes} classes")
    label_B = target_B.long()
    if label_B.numel():
        least, largest = label_B.aminmax()
        if least < 0 or largest >= classes:
            raise ValueError(_describe(label_B, number_B, classes=classes, of=of))
    return label_B


def _describe(label_B: Tensor, number_B: Tensor, *, classes: int, of: str) -> str:
    """Name the first sample with a wrong label; a sample of a volume has a label for each voxel."""
    label_BV = label_B.reshape(len(label_B), -1)
    is_wrong_BV = (label_BV < 0) | (label_BV >= classes)
    first = int(is_wrong_BV.any(dim=1).nonzero()[0])
    label = int(label_BV[first][is_wrong_BV[first]][0])
    sample = f"sample {int(number_B[first])} of {of}"
    return f"label {label} of {sample}: the {classes} classes are 0 to {classes - 1}; {IGNORED}"
