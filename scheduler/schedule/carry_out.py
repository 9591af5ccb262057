"""The starts of a schedule, carried out: each is one row with a key and one experiment, in one transaction."""

from datetime import datetime

from pydantic import ValidationError
from sqlalchemy.orm import Session

from contract.lifecycle.schedule import Overlap, StartStatus
from contract.spec.experiment import ExperimentSpec
from contract.validation import issues_of
from scheduler.schedule.decide import Due
from store import runs
from store.schedules import schedules
from store.schedules.table import Schedule, ScheduleStart

GOING = "the last experiment had not ended"


class PreparedSpec:
    """The spec of a schedule, checked outside any transaction: a large grid takes seconds."""

    def __init__(self, schedule: Schedule) -> None:
        self.spec: ExperimentSpec | None = None
        self.message = ""
        try:
            self.spec = ExperimentSpec.model_validate(schedule.spec)
        except ValidationError as error:  # of an earlier version of the service
            self.message = "; ".join(f"{issue.path}: {issue.message}" for issue in issues_of(error))


def start_moments(db: Session, read: Schedule, due: Due, prepared: PreparedSpec) -> bool:
    """Carry out what is due of a schedule; return False if it has changed since it was read."""
    schedule = schedules.lock(db, read.id, read.version)
    if schedule is None or schedule.paused_at is not None:
        return False
    schedule.next_at = due.next_at
    if due.last_skipped is not None:
        _skip(db, schedule, due.last_skipped, due.skipped)
    for moment in due.starts:
        start_once(db, schedule, moment_key(moment), prepared)
    return True


def start_once(db: Session, schedule: Schedule, key: str, prepared: PreparedSpec) -> None:
    """Carry out one start of a locked schedule, unless it was carried out before."""
    if not schedules.add_start(db, schedule, key):
        return
    start = db.get_one(ScheduleStart, (schedule.id, key))
    is_going = schedule.overlap is not Overlap.ALLOW and schedules.is_going(db, schedule)
    if is_going and schedule.overlap is Overlap.SKIP:
        schedules.settle(db, start, StartStatus.SKIPPED, message=GOING)
    elif not is_going and _is_first(db, schedule, start):
        create_experiment(db, schedule, start, prepared)


def _is_first(db: Session, schedule: Schedule, start: ScheduleStart) -> bool:
    """Return whether no earlier start waits."""
    first = schedules.first_waiting(db, schedule)
    return first is None or first.key == start.key


def start_waiting(db: Session, read: Schedule, prepared: PreparedSpec) -> bool:
    """Carry out the oldest start that waits, if the last experiment has ended; return whether one was."""
    schedule = schedules.lock(db, read.id, read.version)
    if schedule is None or schedule.paused_at is not None or schedules.is_going(db, schedule):
        return False
    start = schedules.first_waiting(db, schedule)
    if start is None:
        return False
    create_experiment(db, schedule, start, prepared)
    return True


def create_experiment(db: Session, schedule: Schedule, start: ScheduleStart, prepared: PreparedSpec) -> None:
    """Create the experiment of a start of a locked schedule."""
    if prepared.spec is None:
        schedules.settle(db, start, StartStatus.FAILED, message=prepared.message)
        return
    key = schedules.experiment_key(schedule, start.key)
    experiment_id = schedules.made_before(db, key)
    if experiment_id is None:
        experiment_id, _ = runs.create(db, prepared.spec, key=key, owner=schedule.owner)
    schedules.settle(db, start, StartStatus.CREATED, experiment_id=experiment_id)


def moment_key(moment: datetime) -> str:
    """Return the key of a moment."""
    return moment.isoformat(timespec="seconds")


def _skip(db: Session, schedule: Schedule, moment: datetime, count: int) -> None:
    key = moment_key(moment)
    if schedules.add_start(db, schedule, key):
        start = db.get_one(ScheduleStart, (schedule.id, key))
        message = "missed" if count == 1 else f"missed, with {count - 1} or more before"
        schedules.settle(db, start, StartStatus.SKIPPED, message=message)
