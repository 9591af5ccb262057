"""What the EASGD benchmark makes of a run's evaluations."""

import pytest

from benchmarks.easgd.benchmark import crossed
from contract import metric_names as series


def evaluations(*accuracies: float) -> list[dict[str, float | None]]:
    return [
        {series.TRAINED_S: 10.0 * number, series.HELDOUT_ACCURACY: accuracy}
        for number, accuracy in enumerate(accuracies, start=1)
    ]


def test_a_target_is_crossed_on_the_line_between_two_evaluations() -> None:
    assert crossed(evaluations(0.8, 0.94, 0.96, 0.9)) == pytest.approx(25.0)
    assert crossed(evaluations(0.95)) == pytest.approx(10.0)


def test_a_target_that_no_evaluation_reaches_is_not_crossed() -> None:
    assert crossed(evaluations(0.8, 0.94)) is None
