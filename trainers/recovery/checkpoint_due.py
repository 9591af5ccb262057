"""When a run is saved: as soon as one of the spec's wishes is due."""

from contract.spec.batch_schedule import Course
from contract.spec.checkpoint import Checkpoint


def is_due(when: Checkpoint, course: Course, *, step: int, saved_step: int, since_s: float) -> bool:
    """Whether to save after `step` steps, when the last save was at `saved_step`, `since_s` seconds ago."""
    if when.every_minutes is not None and since_s >= 60 * when.every_minutes:
        return True
    if when.every_steps is not None and step - saved_step >= when.every_steps:
        return True
    if when.every_epochs is not None:
        now, then = course.position(step).epoch, course.position(saved_step).epoch
        if now // when.every_epochs > then // when.every_epochs:
            return True
    return when.at_end and step == course.steps
