"""Does a schedule fit a run of so many epochs?"""

from collections.abc import Iterator
from itertools import pairwise

from contract.spec.batch_schedule import Course
from contract.spec.choices.schedules import Cosine, Polynomial, Schedule, Step
from contract.validation import Fault


def schedule_misfits(schedule: Schedule, course: Course) -> Iterator[Fault]:
    """What keeps the rate from being what the schedule says over the whole course, with the sums."""
    epochs, warmup = course.epochs, schedule.warmup_epochs
    yield from _warmup_misfits(schedule, epochs)
    begins = [(f"stages.{number}.epoch", stage.epoch) for number, stage in enumerate(schedule.stages)]
    yield from _order_misfits("stage", begins, warmup, epochs=epochs)
    if isinstance(schedule, Step):
        marks = [(f"milestones.{number}", mark) for number, mark in enumerate(schedule.milestones)]
        yield from _order_misfits("milestone", marks, warmup, epochs=epochs)
    if isinstance(schedule, Polynomial | Cosine) and schedule.end_rate > (lowest := _lowest_peak(schedule, course)):
        scaled = ", scaled to the batch" if schedule.scaling else ""
        message = f"the rate would rise to {schedule.end_rate:g}, above the peak of {lowest:g}{scaled}"
        yield Fault(path="end_rate", message=message)


def _lowest_peak(schedule: Schedule, course: Course) -> float:
    changes = [0.0, *(stage.epoch for stage in schedule.stages), *(float(stage.epoch) for stage in course.stages)]
    return min(schedule.peak_at(epoch, course.batch_in(int(epoch))) for epoch in changes)


def _warmup_misfits(schedule: Schedule, epochs: int) -> Iterator[Fault]:
    warmup, start = schedule.warmup_epochs, schedule.start_rate
    if warmup >= epochs:
        message = f"a warm-up of {warmup:g} epochs does not end within {epochs} epochs"
        yield Fault(path="warmup_epochs", message=message)
    if start and not warmup:
        message = f"the rate starts at {start:g} without warmup_epochs to rise in"
        yield Fault(path="start_rate", message=message)
    if schedule.warmup == "quadratic" and not warmup:
        yield Fault(path="warmup", message="a quadratic warm-up needs warmup_epochs to rise in")
    if start > schedule.rate and not schedule.scaling:
        message = f"the warm-up starts at {start:g}, above the rate {schedule.rate:g}"
        yield Fault(path="start_rate", message=message)


def _order_misfits(word: str, marks: list[tuple[str, float]], warmup: float, *, epochs: int) -> Iterator[Fault]:
    """`marks`: where each stands, and its epoch."""
    for (_, before), (path, mark) in pairwise([("", 0.0), *marks]):
        if mark <= before:
            yield Fault(path=path, message=f"the {word} at epoch {mark:g} does not come after epoch {before:g}")
        elif mark < warmup:
            message = f"the {word} at epoch {mark:g} lies within the warm-up of {warmup:g} epochs"
            yield Fault(path=path, message=message)
        elif mark >= epochs:
            message = f"the {word} at epoch {mark:g} is never reached: the run has {epochs} epochs"
            yield Fault(path=path, message=message)
