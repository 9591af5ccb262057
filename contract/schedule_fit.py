"""Does a schedule fit a run of so many epochs?"""

from collections.abc import Iterator
from itertools import pairwise

from contract.choices.schedules import Cosine, Polynomial, Schedule, Step
from contract.faults import Fault


def schedule_misfits(schedule: Schedule, epochs: int) -> Iterator[Fault]:
    """What keeps the rate from being what the schedule says over all `epochs`, with the sums."""
    yield from _warmup_misfits(schedule, epochs)
    begins = [stage.epoch for stage in schedule.stages]
    yield from _order_misfits("stages", "stage", begins, schedule.warmup_epochs, epochs=epochs)
    if isinstance(schedule, Step):
        yield from _order_misfits("milestones", "milestone", schedule.milestones, schedule.warmup_epochs, epochs=epochs)
    lowest = min([schedule.rate, *(stage.rate for stage in schedule.stages)])
    if isinstance(schedule, Polynomial | Cosine) and not schedule.scaling and schedule.end_rate > lowest:
        message = f"the rate would rise to {schedule.end_rate:g}, above the peak of {lowest:g}"
        yield Fault(path="end_rate", message=message)


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


def _order_misfits(path: str, word: str, marks: list[float], warmup: float, *, epochs: int) -> Iterator[Fault]:
    for before, mark in pairwise([0.0, *marks]):
        if mark <= before:
            yield Fault(path=path, message=f"the {word} at epoch {mark:g} does not come after epoch {before:g}")
        elif mark < warmup:
            message = f"the {word} at epoch {mark:g} lies within the warm-up of {warmup:g} epochs"
            yield Fault(path=path, message=message)
        elif mark >= epochs:
            message = f"the {word} at epoch {mark:g} is never reached: the run has {epochs} epochs"
            yield Fault(path=path, message=message)
