"""Checks of a learning-rate schedule against the run's epochs and batches."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from contract.spec.batch_schedule import BatchSchedule
from contract.spec.choices.schedules import Cosine, EngineSchedule, Polynomial, Step
from contract.validation import ValidationIssue


def check_lr_schedule(schedule: EngineSchedule, batch_schedule: BatchSchedule) -> Iterator[ValidationIssue]:
    """Yield an issue for each part of the schedule that the run cannot follow."""
    epochs, warmup = batch_schedule.epochs, schedule.warmup_epochs
    yield from _check_warmup(schedule, epochs)
    begins = [(f"stages.{number}.epoch", stage.epoch) for number, stage in enumerate(schedule.stages)]
    yield from _check_order("stage", begins, warmup, epochs=epochs)
    if isinstance(schedule, Step):
        marks = [(f"milestones.{number}", mark) for number, mark in enumerate(schedule.milestones)]
        yield from _check_order("milestone", marks, warmup, epochs=epochs)
    if isinstance(schedule, Polynomial | Cosine) and schedule.end_rate > (
        lowest := _lowest_peak(schedule, batch_schedule)
    ):
        scaled = ", scaled to the batch" if schedule.scaling else ""
        message = f"the rate would rise to {schedule.end_rate:g}, above the peak of {lowest:g}{scaled}"
        yield ValidationIssue(path="end_rate", message=message)


def _lowest_peak(schedule: EngineSchedule, batch_schedule: BatchSchedule) -> float:
    """Return the lowest peak of the run, in time n log n for n stages; the stages are in order of their epochs."""
    rate_epochs, batch_epochs = (
        [0.0, *(stage.epoch for stage in schedule.stages)],
        [stage.epoch for stage in batch_schedule.stages],
    )
    rates, batches = (
        [schedule.rate, *(stage.rate for stage in schedule.stages)],
        [stage.batch for stage in batch_schedule.stages],
    )
    return min(
        rates[bisect_right(rate_epochs, epoch) - 1]
        * schedule.scale(batches[max(bisect_right(batch_epochs, int(epoch)) - 1, 0)])
        for epoch in [*rate_epochs, *batch_epochs]
    )


def _check_warmup(schedule: EngineSchedule, epochs: int) -> Iterator[ValidationIssue]:
    warmup, start = schedule.warmup_epochs, schedule.start_rate
    if warmup >= epochs:
        message = f"a warm-up of {warmup:g} epochs does not end before the run of {epochs} epochs ends"
        yield ValidationIssue(path="warmup_epochs", message=message)
    if start and not warmup:
        message = f"start_rate {start:g} has no effect without warmup_epochs"
        yield ValidationIssue(path="start_rate", message=message)
    if schedule.warmup == "quadratic" and not warmup:
        yield ValidationIssue(path="warmup", message="a quadratic warm-up needs warmup_epochs")
    if start > schedule.rate and not schedule.scaling:
        message = f"the warm-up starts at {start:g}, above the rate {schedule.rate:g}"
        yield ValidationIssue(path="start_rate", message=message)


def _check_order(name: str, marks: list[tuple[str, float]], warmup: float, *, epochs: int) -> Iterator[ValidationIssue]:
    """Yield an issue for each mark out of order; `marks`: field path and epoch."""
    for (_, before), (path, mark) in pairwise([("", 0.0), *marks]):
        if mark <= before:
            yield ValidationIssue(path=path, message=f"the {name} at epoch {mark:g} must come after epoch {before:g}")
        elif mark < warmup:
            message = f"the {name} at epoch {mark:g} lies within the warm-up of {warmup:g} epochs"
            yield ValidationIssue(path=path, message=message)
        elif mark >= epochs:
            message = f"the {name} at epoch {mark:g} is never reached: the run has {epochs} epochs"
            yield ValidationIssue(path=path, message=message)
