"""The starts of a schedule, carried out: each is one row with a key and one experiment, in one transaction."""

from datetime import datetime

from sqlalchemy.orm import Session

from contract.lifecycle.schedule import Overlap, StartStatus
from contract.spec.expanded import Expanded
from orders import acceptance
from orders.refused import Refused
from scheduler.schedule.decide import Due
from store import schedules
from store.tables.schedules import Schedule, ScheduleStart

GOING = "the last experiment had not ended"


Prepared = Expanded | Refused  # what `acceptance.check` made of the spec of a schedule, before the transaction


def start_moments(db: Session, read: Schedule, due: Due, prepared: Prepared) -> bool:
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


def start_once(db: Session, schedule: Schedule, key: str, prepared: Prepared) -> None:
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


def start_waiting(db: Session, read: Schedule, prepared: Prepared) -> bool:
    """Carry out the oldest start that waits, if the last experiment has ended; return whether one was."""
    schedule = schedules.lock(db, read.id, read.version)
    if schedule is None or schedule.paused_at is not None or schedules.is_going(db, schedule):
        return False
    start = schedules.first_waiting(db, schedule)
    if start is None:
        return False
    create_experiment(db, schedule, start, prepared)
    return True


def create_experiment(db: Session, schedule: Schedule, start: ScheduleStart, prepared: Prepared) -> None:
    """Create the experiment of a start of a locked schedule; a start whose experiment is refused has failed."""
    asked = acceptance.Request(schedules.experiment_key(schedule, start.key), schedule.owner)
    answer = prepared if isinstance(prepared, Refused) else acceptance.store(db, prepared, asked)
    if isinstance(answer, Refused):
        schedules.settle(db, start, StartStatus.FAILED, message=answer.reason)
    else:
        schedules.settle(db, start, StartStatus.CREATED, experiment_id=answer.experiment_id)


def moment_key(moment: datetime) -> str:
    """Return the key of a moment."""
    return moment.isoformat(timespec="seconds")


def _skip(db: Session, schedule: Schedule, moment: datetime, count: int) -> None:
    key = moment_key(moment)
    if schedules.add_start(db, schedule, key):
        start = db.get_one(ScheduleStart, (schedule.id, key))
        message = "missed" if count == 1 else f"missed, with {count - 1} or more before"
        schedules.settle(db, start, StartStatus.SKIPPED, message=message)
