"""Decide when to save a checkpoint: as soon as any interval of the spec has passed."""

from contract.spec.batch_schedule import BatchSchedule
from contract.spec.checkpoint import Checkpoint


def is_due(when: Checkpoint, batch_schedule: BatchSchedule, *, step: int, saved_step: int, since_s: float) -> bool:
    """Return whether to save after `step` steps; the last save was at `saved_step`, `since_s` seconds ago."""
    if when.every_minutes is not None and since_s >= 60 * when.every_minutes:
        return True
    if when.every_steps is not None and step - saved_step >= when.every_steps:
        return True
    if when.every_epochs is not None:
        epoch, saved_epoch = batch_schedule.position(step).epoch, batch_schedule.position(saved_step).epoch
        if epoch // when.every_epochs > saved_epoch // when.every_epochs:
            return True
    return when.at_end and step == batch_schedule.steps
