"""The labels of a user's samples: numbers of classes, which are checked in every batch."""

from torch import Tensor

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
