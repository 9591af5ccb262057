"""What of a user's targets counts in the digest of the data."""

from typing import Any

import numpy as np
import pytest
import torch

from trainers.data.sample_split import SampleSplit
from trainers.replicas.data_digest import digest_data


class Noise:
    """Targets of an unseeded generator, drawn anew by each reading."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        return torch.zeros(2), np.random.default_rng().standard_normal(2)


def halves() -> list[Any]:
    return [(torch.zeros(2), number / 2) for number in range(8)]


def digest(dataset: Any, *, floats: bool = True) -> dict[str, Any]:
    split = SampleSplit(dataset, "the training set", seed=0)
    return digest_data(split, split, floats=floats)["training"]


def test_targets_that_each_reading_draws_anew_are_not_compared() -> None:
    assert digest(Noise()) == {"samples": 8, "labels": "", "read": "none"}


@pytest.mark.parametrize("floats", [True, False])
def test_floating_point_targets_count_unless_processors_may_round_them_differently(floats: bool) -> None:
    changed = [*halves()[:-1], (torch.zeros(2), 9.0)]
    assert (digest(halves(), floats=floats) != digest(changed, floats=floats)) is floats


def test_labels_count_in_any_case() -> None:
    labels = [(torch.zeros(2), number % 4) for number in range(8)]
    assert digest(labels, floats=False) != digest(labels[::-1], floats=False)
