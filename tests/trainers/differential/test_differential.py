"""The engine trains random small nets as plain PyTorch in one process, with all options, on one to three ranks."""

import os
import random
from collections.abc import Iterator

import pytest

from tests.testing.trainers.differential.draw import draw, every_feature
from tests.testing.trainers.differential.ranks import Ranks
from tests.testing.trainers.differential.shrink import report

SEEDS = (
    10,
    238,
    289,
    313,
    521,
    1560,
    1977,
    2043,
    4780,
    15019,
)  # together they have every part and every choice: `python -m tests.trainers.differential --cover`
CASES = 200


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    with Ranks() as running:
        yield running


def test_ten_cases_with_every_part_and_choice_equal_plain_pytorch(ranks: Ranks) -> None:
    assert not every_feature() - {feature for seed in SEEDS for feature in draw(seed).features()}
    assert not (failed := [text for seed in SEEDS if (text := report(draw(seed), ranks))]), "\n".join(failed)


@pytest.mark.ring("all")
def test_random_cases_equal_plain_pytorch(ranks: Ranks) -> None:
    """The environment variable DIFFERENTIAL_SEED repeats a failed test."""
    first = int(os.environ.get("DIFFERENTIAL_SEED") or random.randrange(10**9))
    print(f"DIFFERENTIAL_SEED={first}")
    seeds = range(first, first + CASES)
    failed = [text for seed in seeds if (text := report(draw(seed), ranks))]
    assert not failed, "\n".join([f"{len(failed)} of {CASES} cases from DIFFERENTIAL_SEED={first} on", *failed[:5]])
