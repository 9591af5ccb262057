"""Tests of the checkpoint advice, against manual calculations and the Poisson distribution's limits."""

import math

import pytest

from contract.api.checkpoint_advice import CheckpointHistory, _bounds, advise_interval
from contract.spec.checkpoint_interval import daly, waste

pytestmark = pytest.mark.ring("quick")


def seen(**change: object) -> CheckpointHistory:
    """Ten runs of eight ranks, 20 hours of training, ten interruptions, checkpoints that cost 2 s."""
    fields = {"world": 8, "runs": 10, "trained_s": 72_000.0, "interruptions": 10, "paused": 3, "lost_steps": 400}
    fields |= {"saves": 100, "cost_s": 2.0, "write_s": 9.0, "interval_s": 600.0}
    return CheckpointHistory.model_validate({**fields, **change})


def test_the_best_interval_is_daly_s_for_what_was_seen() -> None:
    answer = advise_interval(seen())
    assert answer.between_s == 7200
    assert answer.best_s == daly(2.0, 7200) == pytest.approx(168.3, abs=0.1)
    assert (answer.waste, answer.best_waste) == (waste(600, 2, 7200), waste(daly(2, 7200), 2, 7200))
    assert answer.why is None
    assert answer.waste > answer.best_waste


@pytest.mark.parametrize("few", [0, 1, 2])
def test_of_few_interruptions_only_a_bound_is_said(few: int) -> None:
    answer = advise_interval(seen(interruptions=few))
    assert answer.best_s is None
    assert answer.why == "fewer than 3 interruptions are too few for an estimate of their rate"
    assert answer.not_below_s == daly(2.0, 72_000 / _bounds(few)[1])


def test_without_a_checkpoint_nobody_knows_its_cost() -> None:
    answer = advise_interval(seen(saves=0, cost_s=None, write_s=None))
    assert (answer.best_s, answer.not_below_s) == (None, None)
    assert "no checkpoint has been written" in str(answer.why)


def test_no_advice_is_shorter_than_writing_takes() -> None:
    assert advise_interval(seen(cost_s=0.001, write_s=30.0)).best_s == 30.0


@pytest.mark.parametrize("count", [0, 1, 3, 10, 100])
def test_the_bounds_hold_poisson_s_95_percent(count: int) -> None:
    """Byar's bounds, put into the exact sums: either tail holds some 2.5 %, of a single interruption half of that."""
    least, most = _bounds(count)
    up_to = sum(math.exp(-most) * most**n / math.factorial(n) for n in range(count + 1))
    assert up_to == pytest.approx(0.025, abs=0.003)
    if count:
        from_there = 1 - sum(math.exp(-least) * least**n / math.factorial(n) for n in range(count))
        assert 0.012 < from_there < 0.026
