"""Tests of batch schedules: steps, epochs and positions, calculated by hand."""

import pytest

from contract.spec.batch_schedule import BatchSchedule, Position, ScheduledBatch
from contract.spec.batch_size import split_into_passes

pytestmark = pytest.mark.ring("quick")


def test_steps_positions_and_epochs_done() -> None:
    batch_schedule = BatchSchedule(
        samples=100, epochs=3, stages=(ScheduledBatch(0, 30),)
    )  # 10 samples are left out of every epoch
    assert batch_schedule.steps == 9
    assert [batch_schedule.position(step) for step in (0, 2, 3, 8, 9)] == [
        Position(0, 0),
        Position(0, 2),
        Position(1, 0),
        Position(2, 2),
        Position(3, 0),
    ]
    assert [batch_schedule.epochs_done(step) for step in (0, 1, 3, 9)] == pytest.approx([0, 1 / 3, 1, 3])


def test_a_batch_that_grows() -> None:
    # 2 epochs of 10 steps, 3 of 4, 1 of 1
    batch_schedule = BatchSchedule(
        samples=100, epochs=6, stages=(ScheduledBatch(0, 10), ScheduledBatch(2, 25), ScheduledBatch(5, 60))
    )
    assert batch_schedule.steps == 20 + 12 + 1
    assert [batch_schedule.batch_in(epoch) for epoch in range(7)] == [10, 10, 25, 25, 25, 60, 60]
    answer = [batch_schedule.position(step) for step in range(batch_schedule.steps + 1)]
    walked = [Position(epoch, step) for epoch in range(6) for step in range(batch_schedule.steps_in(epoch))]
    assert answer == [*walked, Position(6, 0)]
    assert [batch_schedule.epochs_done(step) for step in (0, 5, 20, 21, 32, 33)] == pytest.approx(
        [0, 0.5, 2, 2.25, 5, 6]
    )


def test_the_sony_run_takes_this_many_steps() -> None:
    """ImageNet on 2,176 GPUs, 16 and then 32 samples each: 36 and 18 steps an epoch."""
    batch_schedule = BatchSchedule(
        samples=1_281_167, epochs=90, stages=(ScheduledBatch(0, 34_816), ScheduledBatch(30, 69_632))
    )
    assert (batch_schedule.steps_in(0), batch_schedule.steps_in(89), batch_schedule.steps) == (
        36,
        18,
        30 * 36 + 60 * 18,
    )


def test_passes_are_few_and_even() -> None:
    assert split_into_passes(10, None) == [10]
    assert split_into_passes(10, 10) == [10]
    assert split_into_passes(10, 4) == [4, 3, 3]
    assert split_into_passes(7, 2) == [2, 2, 2, 1]
