"""Steps, epochs and positions, worked out by hand."""

import pytest

from contract.course import Course, Position


def test_steps_positions_and_epochs_done() -> None:
    course = Course(samples=100, epochs=3, batch=30)  # 10 samples are left out of every epoch
    assert course.steps == 9
    assert [course.position(step) for step in (0, 2, 3, 8, 9)] == [
        Position(0, 0),
        Position(0, 2),
        Position(1, 0),
        Position(2, 2),
        Position(3, 0),
    ]
    assert [course.epochs_done(step) for step in (0, 1, 3, 9)] == pytest.approx([0, 1 / 3, 1, 3])
