"""Schedules: stored, changed, and their starts carried out, each once."""

from collections.abc import Collection, Sequence
from datetime import datetime
from secrets import token_hex
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, delete, exists, func, insert, select
from sqlalchemy.orm import Session

from contract.lifecycle.schedule import StartStatus
from store.insert import insert_into
from store.notify.progress import read_progress
from store.tables.base import now
from store.tables.schedules import Schedule, ScheduleCode, ScheduleStart

MAX_SCHEDULES = 500
MAX_MESSAGE = 2_000


def add_schedule(db: Session, codes: Collection[str], **columns: Any) -> Schedule:
    """Store a schedule; protect the code snapshots that its runs will need."""
    schedule = Schedule(key=token_hex(8), **columns)
    db.add(schedule)
    db.flush()
    if codes:
        db.execute(insert(ScheduleCode), [{"schedule_id": schedule.id, "code": code} for code in sorted(codes)])
    return schedule


def all_schedules(db: Session) -> Sequence[Schedule]:
    """Return the schedules in the order of their names."""
    return db.scalars(select(Schedule).order_by(Schedule.name)).all()


def count_schedules(db: Session) -> int:
    """Return the number of schedules."""
    return db.scalar(select(func.count()).select_from(Schedule)) or 0


def has_name(db: Session, name: str) -> bool:
    """Return whether a schedule has the name."""
    return db.scalar(select(Schedule.id).where(Schedule.name == name)) is not None


def lock(db: Session, schedule_id: int, version: int | None = None) -> Schedule | None:
    """Lock a schedule; return None if there is none, or if it has changed since `version` was read."""
    query = select(Schedule).where(Schedule.id == schedule_id).with_for_update(key_share=True)
    schedule = db.scalar(query.execution_options(populate_existing=True))
    if schedule is None or (version is not None and schedule.version != version):
        return None
    schedule.version += 1
    return schedule


def pause(schedule: Schedule) -> None:
    """Pause a locked schedule."""
    schedule.paused_at = schedule.paused_at or now()


def resume(schedule: Schedule) -> None:
    """Let a locked schedule go on; what it missed meanwhile counts as its rule says."""
    schedule.paused_at = None


def remove(db: Session, schedule: Schedule) -> None:
    """Delete a locked schedule; its experiments stay."""
    for table in (ScheduleStart, ScheduleCode):
        db.execute(delete(table).where(table.schedule_id == schedule.id))
    db.execute(delete(Schedule).where(Schedule.id == schedule.id))


def due(db: Session) -> Sequence[Schedule]:
    """Return the schedules with a moment that has come."""
    return db.scalars(select(Schedule).where(*_due(now())).order_by(Schedule.id)).all()


def of_files(db: Session) -> Sequence[Schedule]:
    """Return the schedules that follow a file."""
    mine = (Schedule.path.is_not(None), Schedule.paused_at.is_(None))
    return db.scalars(select(Schedule).where(*mine).order_by(Schedule.id)).all()


def with_waiting(db: Session) -> Sequence[Schedule]:
    """Return the schedules with a start that waits for the end of the last experiment."""
    waits = exists().where(ScheduleStart.schedule_id == Schedule.id, ScheduleStart.status == StartStatus.WAITING)
    return db.scalars(select(Schedule).where(waits, Schedule.paused_at.is_(None)).order_by(Schedule.id)).all()


def add_start(db: Session, schedule: Schedule, key: str) -> bool:
    """Store that a start of a locked schedule waits; return False if it was made before."""
    row = {"schedule_id": schedule.id, "key": key, "status": StartStatus.WAITING, "at": now()}
    add = insert_into(db, ScheduleStart).values(row).on_conflict_do_nothing()
    return db.scalar(add.returning(ScheduleStart.key)) is not None


def first_waiting(db: Session, schedule: Schedule) -> ScheduleStart | None:
    """Return the oldest start that waits."""
    mine = (ScheduleStart.schedule_id == schedule.id, ScheduleStart.status == StartStatus.WAITING)
    return db.scalars(select(ScheduleStart).where(*mine).order_by(ScheduleStart.at, ScheduleStart.key).limit(1)).first()


def settle(
    db: Session, start: ScheduleStart, status: StartStatus, *, experiment_id: int | None = None, message: str = ""
) -> None:
    """Store how a start ended."""
    start.status, start.experiment_id = status, experiment_id
    start.message = message[:MAX_MESSAGE] or None
    db.flush()


def is_going(db: Session, schedule: Schedule) -> bool:
    """Return whether an experiment that the schedule made has not ended."""
    mine = (ScheduleStart.schedule_id == schedule.id, ScheduleStart.experiment_id.is_not(None))
    last = db.scalar(select(func.max(ScheduleStart.experiment_id)).where(*mine))
    progress = None if last is None else read_progress(db, last)
    return progress is not None and not progress.has_ended


def has_start(db: Session, schedule_id: int, key: str) -> bool:
    """Return whether a start was made or waits."""
    mine = (ScheduleStart.schedule_id == schedule_id, ScheduleStart.key == key)
    return db.scalar(select(ScheduleStart.key).where(*mine)) is not None


def starts_of(db: Session, schedule_id: int, limit: int) -> Sequence[ScheduleStart]:
    """Return the starts of a schedule, newest first."""
    mine = ScheduleStart.schedule_id == schedule_id
    order = (ScheduleStart.at.desc(), ScheduleStart.key.desc())
    return db.scalars(select(ScheduleStart).where(mine).order_by(*order).limit(limit)).all()


def experiment_key(schedule: Schedule, start: str) -> str:
    """Return the key under which the experiment of a start is stored: no second one can have it."""
    return f"schedule:{schedule.key}:{start}"


def any_due(at: BindParameter[datetime]) -> ColumnElement[bool]:
    """Return the condition that a schedule's moment has come."""
    return exists().where(Schedule.paused_at.is_(None), Schedule.next_at <= at)


def _due(at: datetime) -> tuple[ColumnElement[bool], ...]:
    return Schedule.paused_at.is_(None), Schedule.next_at <= at
