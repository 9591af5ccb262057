"""DataDigest: the sizes of a run's data and a digest of their labels, equal on all ranks and in all attempts.

All labels count where a set has them at hand, else those of SAMPLES samples. The inputs do not count, since to read
them all would take as long as an epoch: exchanged samples of one class are not noticed.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor

from trainers.data.augmented_split import AugmentedSplit
from trainers.data.label_search import shown_labels
from trainers.data.sample_split import SampleSplit
from trainers.data.split import NumberedTargets, Split
from trainers.replicas.exchange import Comparers, find_difference
from trainers.replicas.values import Value, Values, describe

SAMPLES = 64  # distributed evenly over a set
DataDigest = dict[str, dict[str, Any]]  # by the set, as JSON

ADVICE = (
    "Every rank must make the same data, since sample i is the same on each. The engine seeds the generators of torch, "
    "NumPy and Python alike before it calls the function of the data, so look for what it cannot seed: "
    "numpy.random.default_rng() without a seed, or the order of os.listdir, of glob or of a set, which sorted() fixes."
)


class DataDiffer(RuntimeError):
    """The ranks have different data."""


def digest_data(train: Split, heldout: Split, *, floats: bool = True) -> DataDigest:
    """Return the digest of a run's data; `floats`: floating-point targets count, which processors round differently."""
    return {"training": _digest_set(train, floats=floats), "held_out": _digest_set(heldout, floats=floats)}


def compare_data(data: DataDigest, comparers: Comparers) -> None:
    """Raise DataDiffer if the ranks have different data; all ranks call this together."""
    if difference := find_difference(_values(data), comparers):
        raise DataDiffer(f"{difference.describe('the data of the ranks', 'before the first step')}. {ADVICE}")


def differences(saved: Mapping[str, Any], here: DataDigest) -> Iterator[str]:
    """Yield what differs between the data of a checkpoint and those of this attempt."""
    for kind, one in here.items():
        there, name = saved[kind], f"the {kind.replace('_', '-')} set"
        if there["samples"] != one["samples"]:
            yield f"{name} has {there['samples']} samples there and {one['samples']} here"
        elif there["read"] == one["read"] and there["labels"] != one["labels"]:
            yield f"the labels of {name} are others"


def _digest_set(split: Split, *, floats: bool) -> dict[str, Any]:
    if isinstance(split, AugmentedSplit):  # it changes inputs alone
        split = split.split
    numbers = _numbers_of(split)
    if numbers is not None:
        return {"samples": len(split), "labels": _digest(numbers), "read": "all"}
    targets = _read_some(split)
    if any(target.is_floating_point() for target in targets) and not (floats and _are_fixed(split, targets)):
        return {"samples": len(split), "labels": "", "read": "none"}
    return {"samples": len(split), "labels": _digest(targets), "read": str(SAMPLES)}


def _digest(labels: Any) -> str:
    return sha256(repr(describe([("labels", labels)])).encode()).hexdigest()[:16]


def _are_fixed(split: Split, targets: list[Tensor]) -> bool:
    """Return whether a second reading gives the same targets: a set may draw noise without a seed as its target."""
    return all(map(torch.equal, targets, _read_some(split)))


def _numbers_of(split: Split) -> Tensor | None:
    """Return numbers from which all targets follow; None if the samples must be read."""
    if isinstance(split, SampleSplit):
        return shown_labels(split.dataset)
    return split.target_numbers() if isinstance(split, NumberedTargets) else None


def _read_some(split: Split) -> list[Tensor]:
    """Return the targets of some samples, read one by one as for a batch of the first epoch."""
    count = min(SAMPLES, len(split))
    return [split.batch(torch.tensor([number * len(split) // count]))[1] for number in range(count)]


def _values(data: DataDigest) -> Values:
    values: Values = {}
    for kind, one in data.items():
        name = f"the {kind.replace('_', '-')} set"
        values[f"the size of {name}"] = Value(f"{one['samples']} samples")
        values[f"the labels of {name}"] = Value(f"labels, {one['read']} read", one["labels"])
    return values
