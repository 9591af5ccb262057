"""The all-reduce benchmark measures every algorithm and predicts its time from the measured links."""

import pytest

from benchmarks.allreduce.algorithms import NAMES
from benchmarks.allreduce.benchmark import bound_seconds
from benchmarks.allreduce.peers import calls_of, counted
from benchmarks.allreduce.rank import count_repeats
from benchmarks.launcher import run_ranks


@pytest.mark.ring("all")
def test_every_algorithm_has_a_row_with_its_price() -> None:
    task = {"sizes": [4096], "ranks_per_host": 2, "repeats": 1, "algorithms": NAMES}
    result = run_ranks("benchmarks.allreduce.rank", [""], 2, task)
    assert [row["algorithm"] for row in result["rows"]] == list(NAMES)
    assert all(row["seconds"] > 0 and row["predicted_s"] > 0 for row in result["rows"])
    assert result["network"]["add_rate"] > 0


def test_a_slow_all_reduce_has_fewer_repeats() -> None:
    assert [count_repeats(1 << 24, 5, first_s) for first_s in (0.5, 4.0, 100.0)] == [5, 3, 0]
    assert count_repeats(1 << 12, 5, 0.001) == 20


def test_a_large_vector_has_one_call_in_a_pass_and_a_small_one_leaves_out_the_first() -> None:
    assert (calls_of(100 << 20), counted([3.0], 100 << 20)) == (1, [3.0])
    assert (calls_of(16 << 20), counted([9.0, 1.0, 2.0], 16 << 20)) == (3, [1.0, 2.0])


def test_the_bound_is_what_must_cross_a_link() -> None:
    assert bound_seconds(1 << 20, 4, "100mbit") == pytest.approx(1.5 * 8 * (1 << 20) / 100e6)
