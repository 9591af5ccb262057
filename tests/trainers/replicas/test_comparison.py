"""When replicas are compared: at the share of the time that the spec of the engine allows, at one step on all ranks."""

import math
from pathlib import Path
from unittest import mock

import pytest

from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.forked_ranks import on_ranks
from tests.trainers.replicas.test_differing_parts import failure, own, run
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.replicas import comparison
from trainers.replicas.comparison import ReplicaComparison
from trainers.replicas.exchange import Comparers
from trainers.replicas.values import Value


class CompareAtOnce:
    """From a step on, on rank 0: a comparison is always due."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, step: int) -> None:
        if step == self.after:
            comparison.SHARE = math.inf


@pytest.mark.parametrize("world", [2, 3])
def test_all_ranks_compare_after_the_step_at_which_rank_0_finds_a_comparison_due(world: int, tmp_path: Path) -> None:
    folder = run(tmp_path, world, optimizer=own("NoisySGD", noise="rank"), checkpoint={})
    assert attempt(folder, 1, blow=CompareAtOnce(after=1)) == [1] * world
    assert "the replicas differ after step 2 in the weights `fc.weight`" in failure(folder).reason


def due_times() -> list[bool]:
    """Return whether a comparison is due, at moments after one that took two seconds."""
    now = [100.0]

    def values() -> dict[str, Value]:
        now[0] += 2
        return {"w": Value("1")}

    with mock.patch.object(comparison.time, "monotonic", side_effect=lambda: now[0]):
        compared = ReplicaComparison(values, Comparers(range(2), BackendCollectives()))
        compared.compare(0)
        found = []
        for after_s in (1.0, 1998.0, 2001.0):
            now[0] = 102.0 + after_s
            found.append(compared.is_due())
        compared.compare(5)
        compared.compare(5)
        assert now[0] == 2105.0, "one step is compared once"
        return [*found, compared.is_due()]


def test_a_comparison_is_due_when_it_takes_a_thousandth_of_the_time_since_the_last_one() -> None:
    assert on_ranks(2, due_times) == [[False, False, True, False]] * 2


def test_a_single_replica_has_nothing_to_compare() -> None:
    alone = ReplicaComparison(lambda: pytest.fail("no value is needed"), None)
    alone.compare(0)
    assert not alone.is_due()
