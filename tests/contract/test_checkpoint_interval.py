"""Tests of Young's and Daly's intervals, against worked examples and the minimum of the waste."""

import math

import pytest

from contract.spec.checkpoint_interval import daly, waste, young

pytestmark = pytest.mark.ring("quick")


def test_worked_examples() -> None:
    # C = 10 s, M = 2 h: sqrt(2 10 7200) = 379.5 s
    assert young(10, 7200) == pytest.approx(379.473, abs=1e-3)
    # the same by Daly: x = 10/14400; 379.473 (1 + 0.026352/3 + 0.00069444/9) - 10 = 372.836
    assert daly(10, 7200) == pytest.approx(372.836, abs=1e-3)
    assert waste(young(10, 7200), 10, 7200) == pytest.approx(2 * 10 / 379.473, rel=1e-5)


@pytest.mark.parametrize(("cost_s", "between_s"), [(0.1, 60), (5, 3600), (60, 86_400), (300, 7200)])
def test_young_s_is_where_the_waste_is_least(cost_s: float, between_s: float) -> None:
    best = young(cost_s, between_s)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert waste(best, cost_s, between_s) < waste(best * factor, cost_s, between_s)


def test_daly_s_minimizes_the_exact_expected_time() -> None:
    """With exponential interruptions a segment of t + C takes M (e^((t + C)/M) - 1) for t of progress (Daly, 2006)."""
    cost_s, between_s = 300.0, 3600.0

    def exact(interval_s: float) -> float:
        return between_s * (math.exp((interval_s + cost_s) / between_s) - 1) / interval_s

    best = min((float(t) for t in range(60, 7200)), key=exact)
    assert daly(cost_s, between_s) == pytest.approx(best, rel=0.01)
    assert abs(daly(cost_s, between_s) - best) < abs(young(cost_s, between_s) - best)


def test_a_checkpoint_that_costs_more_than_it_saves_is_made_once_per_interruption() -> None:
    assert daly(100, 40) == 40


@pytest.mark.parametrize(("cost_s", "between_s"), [(0, 1), (1, 0), (-1, 1)])
def test_times_are_above_0(cost_s: float, between_s: float) -> None:
    with pytest.raises(ValueError, match="above 0 s"):
        young(cost_s, between_s)
