"""Schedules against numbers worked out by hand."""

import pytest

from trainers.schedules.constant import constant
from trainers.schedules.polynomial import polynomial
from trainers.schedules.warmup import warmup


def test_polynomial_decay_by_hand() -> None:
    rate = polynomial(8.0, power=2.0, steps=4)
    assert [rate(t) for t in range(5)] == pytest.approx([8, 4.5, 2, 0.5, 0])
    assert rate(6) == 0
    assert polynomial(8.0, power=1.0, steps=4)(1) == pytest.approx(6)


def test_warmup_climbs_in_a_line_and_then_the_decay_counts_from_the_start() -> None:
    rate = warmup(polynomial(10.0, power=2.0, steps=10), start_rate=1.0, rate=10.0, steps=3)
    # at t = N the authors' Caffe goes on at g0 (1 - N/T)^2, not at g0
    assert [rate(t) for t in range(5)] == pytest.approx([1, 4, 7, 10 * 0.7**2, 10 * 0.6**2])


def test_warmup_of_part_of_a_step_count() -> None:
    rate = warmup(constant(4.0), start_rate=0.0, rate=4.0, steps=2.5)
    assert [rate(t) for t in range(4)] == pytest.approx([0, 1.6, 3.2, 4])


def test_no_warmup_leaves_the_schedule_alone() -> None:
    assert warmup(constant(3.0), start_rate=0.0, rate=3.0, steps=0)(0) == 3
