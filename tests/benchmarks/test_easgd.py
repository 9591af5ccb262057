"""The EASGD benchmark computes the time to the target from a run's evaluations."""

import pytest

from benchmarks.easgd.run_rows import crossing_time
from contract import metric_names


def evaluations(*accuracies: float) -> list[dict[str, float | None]]:
    return [
        {metric_names.TRAINED_S: 10.0 * number, metric_names.HELDOUT_ACCURACY: accuracy}
        for number, accuracy in enumerate(accuracies, start=1)
    ]


def test_the_crossing_time_is_interpolated_between_two_evaluations() -> None:
    assert crossing_time(evaluations(0.8, 0.94, 0.96, 0.9), 0.95) == pytest.approx(25.0)
    assert crossing_time(evaluations(0.95), 0.95) == pytest.approx(10.0)


def test_without_an_evaluation_at_the_target_there_is_no_crossing_time() -> None:
    assert crossing_time(evaluations(0.8, 0.94), 0.95) is None
