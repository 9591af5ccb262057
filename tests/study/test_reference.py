"""The reference convergence test compared with the examples of MLPerf's training rules."""

import math

import pytest
from scipy.stats import t as students_t

from study.reference import Reference, interpolate, judge, prune, reference
from study.student import critical, within

pytestmark = pytest.mark.ring("quick")

AT_128 = reference(128, [16, 14, 16, 17, 16, 16, 15, 16, 15, 16])
AT_256 = reference(256, [20, 21, 21, 20, 22, 22, 21, 21, 20, 20])
BOTH = [AT_128, AT_256]


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 11, 30, 101])
def test_student_s_t_is_scipy_s(freedom: int) -> None:
    for t in (0.0, 0.3, 1.0, 2.5, 20.0):
        assert within(t, freedom) == pytest.approx(1 - 2 * students_t.sf(t, freedom), abs=1e-12)
    for p in (0.5, 0.05, 0.001):
        assert critical(p, freedom) == pytest.approx(students_t.isf(p, freedom), rel=1e-9, abs=1e-12)


def test_means_deviations_and_limits_of_the_rules_examples() -> None:
    assert (AT_128.mean, AT_128.deviation) == pytest.approx((15.75, 0.43), abs=5e-3)
    assert (AT_256.mean, AT_256.deviation) == pytest.approx((20.75, 0.66), abs=5e-3)
    # three of five runs count; the valid speed-ups
    assert AT_128.least_mean(3) == pytest.approx(15.21, abs=5e-3)
    assert AT_128.mean / AT_128.least_mean(3) - 1 == pytest.approx(0.0353, abs=5e-5)
    assert AT_256.least_mean(3) == pytest.approx(19.93, abs=5e-3)
    assert AT_256.mean / AT_256.least_mean(3) - 1 == pytest.approx(0.0412, abs=5e-5)


def test_interpolation_matches_the_rules_example() -> None:
    at_192 = interpolate(AT_128, AT_256, 192, runs=10)
    assert (at_192.mean, at_192.deviation) == pytest.approx((18.25, 0.547), abs=5e-4)
    assert at_192.mean / at_192.least_mean(3) - 1 == pytest.approx(0.0368, abs=1e-4)


@pytest.mark.parametrize(
    ("submission", "batch", "epochs", "passed", "factor"),
    [
        ("S1", 128, [15, 15, 15, 16, 16], True, 15.75 / (46 / 3)),
        ("S2", 256, [19, 19, 19, 20, 21], False, 1.0),
        ("S3", 192, [17, 18, 18, 18, 20], True, 18.25 / 18),
        ("S4", 512, [40, 40, 40, 40, 40], False, 1.0),
        ("S5", 64, [16, 16, 15, 16, 16], True, 1.0),
        ("S6", 64, [12, 12, 13, 13, 12], False, 1.0),
    ],
)
def test_the_rules_examples(submission: str, batch: int, epochs: list[float], passed: bool, factor: float) -> None:
    """S1 to S3 and the limits are figures of the appendix, which has none for S4 to S6."""
    result = judge(BOTH, batch, epochs)
    assert result.passed is passed, submission
    assert result.factor == pytest.approx(factor)
    if submission in ("S4", "S6"):
        assert "run the reference with" in result.reason


def test_one_run_may_fail_to_converge_but_not_two() -> None:
    assert judge(BOTH, 128, [16, 16, 16, 16, math.inf]).passed
    assert not judge(BOTH, 128, [16, 16, 16, math.inf, math.inf]).passed


def test_a_reference_slower_than_its_neighbors_line_is_prune() -> None:
    """The example of the rules has 10, 20 and 20 epochs at 128, 256 and 512."""
    points = [Reference(batch, mean, 0.5, 8) for batch, mean in ((128, 10), (256, 20), (512, 20), (64, 12))]
    assert [one.batch for one in prune(points)] == [128, 512]


def test_pruning_can_remove_several_earlier_references() -> None:
    points = [Reference(batch, mean, 0.5, 8) for batch, mean in ((1, 0), (2, 5), (3, 9), (4, 4), (5, 20))]
    assert [one.batch for one in prune(points)] == [1, 4, 5]


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="2 runs"):
        reference(128, [16, 16])
