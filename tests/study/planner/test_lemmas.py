"""The lemmas of Zou et al. (2017) have their exact values, and grow and fall where they must."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.planner.lemmas import fewest_servers, most_ranks, overhead_of, speedup

pytestmark = pytest.mark.ring("quick")

overheads = st.floats(1e-6, 10)
ranks = st.integers(1, 4096)


@pytest.mark.parametrize(("number", "expected"), [(1, 1.0), (2, 1.83), (4, 3.14), (8, 4.89)])
def test_the_speed_up_at_a_tenth_of_overhead_is_that_of_the_paper(number: int, expected: float) -> None:
    assert round(speedup(number, 0.1), 2) == expected


def test_the_speed_up_is_the_constant_overhead_of_a_simulated_step() -> None:
    computing_s, overhead_s = 3.0, 0.6
    for number in (1, 3, 17, 256):
        simulated = (computing_s + overhead_s) / (computing_s / number + overhead_s)
        assert speedup(number, overhead_s / computing_s) == pytest.approx(simulated, rel=1e-12)


@given(ranks, overheads)
def test_more_ranks_are_faster_and_less_efficient_and_more_overhead_is_slower(number: int, overhead: float) -> None:
    now, more = speedup(number, overhead), speedup(number + 1, overhead)
    assert now <= more * (1 + 1e-12)
    assert more / (number + 1) <= now / number * (1 + 1e-12)
    assert speedup(number, 2 * overhead) <= now * (1 + 1e-12)
    assert now <= (1 + overhead) / overhead * (1 + 1e-12)


@given(overheads, st.floats(0.01, 0.99))
def test_the_advised_ranks_reach_the_efficiency_and_one_more_does_not(overhead: float, efficiency: float) -> None:
    advised = most_ranks(overhead, efficiency, limit=10**9)
    assert advised == 1 or speedup(advised, overhead) / advised >= efficiency * (1 - 1e-9)
    assert advised == 10**9 or speedup(advised + 1, overhead) / (advised + 1) <= efficiency * (1 + 1e-9)


def test_without_overhead_as_many_ranks_as_there_are_are_advised() -> None:
    assert most_ranks(0, 0.9, limit=4096) == 4096


@given(st.integers(2, 4096), overheads)
def test_the_overhead_of_a_speed_up_is_the_inverse_of_the_lemma(number: int, overhead: float) -> None:
    assert overhead_of(number, speedup(number, overhead)) == pytest.approx(overhead, rel=1e-6)


def test_no_speed_up_at_all_is_an_infinite_overhead_and_more_than_linear_is_refused() -> None:
    assert overhead_of(4, 1.0) == inf
    with pytest.raises(ValueError, match=r"4 ranks cannot have the speed-up 4\.1"):
        overhead_of(4, 4.1)


def test_servers_are_the_least_that_hide_the_exchange() -> None:
    assert fewest_servers(100e6, 8, rate=1e9, compute_s=0.5) == 4  # 2 x 0.1 GB x 8 / 0.5 GB = 3.2
    assert fewest_servers(100e6, 10, rate=1e9, compute_s=0.5) == 4  # exactly 4
    assert fewest_servers(100, 1, rate=1e9, compute_s=1) == 1


@given(st.floats(1, 1e10), ranks, st.floats(1e3, 1e12), st.floats(1e-4, 1e3))
def test_servers_grow_with_weights_and_workers_and_fall_with_rate_and_time(
    size: float, workers: int, rate: float, time_s: float
) -> None:
    now = fewest_servers(size, workers, rate=rate, compute_s=time_s)
    assert fewest_servers(2 * size, workers, rate=rate, compute_s=time_s) >= now
    assert fewest_servers(size, workers + 1, rate=rate, compute_s=time_s) >= now
    assert fewest_servers(size, workers, rate=2 * rate, compute_s=time_s) <= now
    assert fewest_servers(size, workers, rate=rate, compute_s=2 * time_s) <= now


def test_numbers_without_a_meaning_are_refused() -> None:
    for wrong in (lambda: speedup(0, 0.1), lambda: speedup(1, -1), lambda: most_ranks(0.1, 1.5, limit=9)):
        with pytest.raises(ValueError, match="not"):
            wrong()
    with pytest.raises(ValueError, match="lemma 2"):
        fewest_servers(1, 1, rate=0, compute_s=1)
