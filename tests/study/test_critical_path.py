"""The critical path of a workflow and the predicted ends of its steps."""

import pytest

from study.critical_path import TimedStep, schedule

pytestmark = pytest.mark.ring("quick")


def test_the_path_goes_through_the_steps_that_end_last() -> None:
    found = schedule(
        [
            TimedStep("a", (), 0.0, 10.0, 10.0),
            TimedStep("b", ("a",), 10.0, None, 50.0),
            TimedStep("c", ("a",), 10.0, 30.0, 20.0),
            TimedStep("d", ("b", "c"), None, None, 5.0),
        ],
        now=40.0,
    )
    assert found.ends == {"a": 10.0, "b": 60.0, "c": 30.0, "d": 65.0}
    assert found.critical == ["a", "b", "d"]


def test_a_step_that_takes_longer_than_expected_ends_now_at_the_earliest() -> None:
    found = schedule([TimedStep("a", (), 0.0, None, 10.0), TimedStep("b", ("a",), None, None, 5.0)], now=100.0)
    assert found.ends == {"a": 100.0, "b": 105.0}


def test_an_unknown_duration_leaves_the_ends_behind_it_unknown() -> None:
    found = schedule([TimedStep("a", (), 0.0, None, None), TimedStep("b", ("a",), None, None, 5.0)], now=1.0)
    assert found.ends == {"a": None, "b": None}
    assert found.critical == ["a", "b"]


def test_a_skipped_step_does_not_decide_the_end() -> None:
    found = schedule(
        [
            TimedStep("a", (), 0.0, 10.0, 10.0),
            TimedStep("b", ("a",), 10.0, 20.0, 10.0),
            TimedStep("c", ("a",), None, 30.0, None, has_runs=False),
        ],
        now=30.0,
    )
    assert found.critical == ["a", "b"]
