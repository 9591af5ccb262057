"""The labels that a data set has at hand."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

from trainers.data.labels import labels_at_hand


class Set:
    """A data set of four samples with an attribute."""

    def __init__(self, name: str, labels: Any) -> None:
        setattr(self, name, labels)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> tuple[int, int]:
        pytest.fail("no sample is read")


FOUR = torch.tensor([3, 1, 2, 0])


@pytest.mark.parametrize(
    "dataset",
    [
        Set("targets", [3, 1, 2, 0]),
        Set("targets", FOUR),
        Set("labels", np.array([3, 1, 2, 0])),
        TensorDataset(torch.zeros(4, 2), FOUR),
        Subset(Set("targets", [0, 1, 2, 3]), [3, 1, 2, 0]),  # type: ignore[arg-type]
        ConcatDataset([Subset(TensorDataset(FOUR, FOUR), [0, 1]), Subset(TensorDataset(FOUR, FOUR), [2, 3])]),
    ],
)
def test_labels_are_read_from_the_set_and_no_sample_is(dataset: Any) -> None:
    labels = labels_at_hand(dataset)
    assert labels is not None
    assert labels.tolist() == [3, 1, 2, 0]


@pytest.mark.parametrize(
    "dataset",
    [
        Set("targets", [3, 1, 2]),
        Set("targets", ["cat", "dog", "cat", "bird"]),
        Set("targets", [[1], [1, 2], [1], []]),
        Set("labels", 4),
        Set("labels", torch.tensor(3)),
        Set("classes", [3, 1, 2, 0]),
        TensorDataset(FOUR, FOUR, FOUR),
        [(1, 2)] * 4,
    ],
)
def test_what_has_no_number_for_each_sample_is_no_list_of_labels(dataset: Any) -> None:
    assert labels_at_hand(dataset) is None
