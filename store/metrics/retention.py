"""Retention: the removal of points and history entries of runs that ended long ago, in small transactions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, or_, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from contract.lifecycle.state import ENDED, State
from contract.spec.recorded.run import ELSEWHERE
from store import changes
from store.locks import lock_runs
from store.tables.base import now
from store.tables.points import CellBlock, Chunk, Series
from store.tables.runs import Move, Run

MAX_RUNS = 100  # in one transaction
CHUNKS = (Chunk.series_id, Chunk.first_step)
BLOCKS = (CellBlock.series_id, CellBlock.level, CellBlock.block)


class Retention(NamedTuple):
    """For how long after a run's end its points and its history entries are stored; None: for ever."""

    points: timedelta | None = None
    history: timedelta | None = None

    @classmethod
    def of_days(cls, points: float | None, history: float | None) -> "Retention":
        """Return the retention in days, as the settings have it."""
        return cls(*(None if days is None else timedelta(days=days) for days in (points, history)))


def remove_points(db: Session, ended_before: datetime, limit: int) -> bool:
    """Remove at most `limit` rows of points of runs that ended before the moment; return whether there may be more.

    A run without any more points loses its series too, and gets the moment of the removal. Its newest values and its
    best accuracy are columns of the run and stay.
    """
    run_ids = _lock_ended(db, ended_before, Run.points_removed_at)
    remaining, without_points = limit, []
    for run_id in run_ids:
        remaining -= remove_points_of(db, run_id, remaining)
        if not remaining:
            break
        without_points.append(run_id)
    db.execute(delete(Series).where(Series.run_id.in_(without_points)))
    db.execute(update(Run).where(Run.id.in_(without_points)).values(points_removed_at=now()))
    changes.record_runs(db, without_points)
    return bool(run_ids)


def remove_waits(db: Session, ended_before: datetime) -> bool:
    """Remove the history entries of waiting of runs that ended before the moment; return whether there may be more.

    Each start, the move that followed it, and the end stay: they give the time in which the run trained, and why it
    ended. So does each request after an end. Ended attempts are jobs and stay too.
    """
    run_ids = _lock_ended(db, ended_before, Run.history_removed_at)
    waits = (
        Move.new.not_in([State.RUNNING, *ENDED]),
        or_(Move.old.is_(None), Move.old.not_in([State.RUNNING, *ENDED])),
    )
    db.execute(delete(Move).where(Move.run_id.in_(run_ids), *waits))
    db.execute(update(Run).where(Run.id.in_(run_ids)).values(history_removed_at=now()))
    return bool(run_ids)


def _lock_ended(
    db: Session, ended_before: datetime, removed_at: InstrumentedAttribute[datetime | None]
) -> Sequence[int]:
    """Lock the runs that ended first, and before the moment, of which nothing has been removed."""
    # a live run has no `ended_at`; a run that goes on after its end has none, and its removals are undone
    # runs that were carried out elsewhere ended long ago when they are imported: nobody wants their removal then
    is_own = Run.cluster != ELSEWHERE
    due: tuple[ColumnElement[bool], ...] = (Run.ended_at < ended_before, removed_at.is_(None), is_own)
    oldest = select(Run.id).where(*due).order_by(Run.ended_at).limit(MAX_RUNS)
    return lock_runs(db, Run.id.in_(oldest), *due)


def remove_points_of(db: Session, run_id: int, limit: int) -> int:
    """Remove the first chunks and blocks of cells of a run, at most `limit`; return their number.

    The newest points are in the rows of the series, which the caller removes. Until then the series have the points of
    their remaining chunks: a run that goes on after its end adds to them.
    """
    mine = select(Series.id).where(Series.run_id == run_id)
    db.execute(update(Series).where(Series.run_id == run_id, Series.cell_width > 0).values(cell_width=0))
    removed = 0
    for table, place in ((CellBlock, BLOCKS), (Chunk, CHUNKS)):
        which: list[ColumnElement[bool]] = [table.series_id.in_(mine)]
        if removed < limit:
            first = select(*place).where(*which).order_by(*place)
            if last := db.execute(first.offset(limit - removed - 1).limit(1)).first():
                which.append(tuple_(*place) <= tuple_(*last))
            removed += db.connection().execute(delete(table).where(*which)).rowcount
    _begin_at_remaining_chunks(db, run_id)
    return removed


def _begin_at_remaining_chunks(db: Session, run_id: int) -> None:
    first = select(func.min(Chunk.first_step)).where(Chunk.series_id == Series.id).scalar_subquery()
    mine = update(Series).where(Series.run_id == run_id, Series.chunked_to >= 0)
    options = {"synchronize_session": False}
    db.execute(mine.values(first_step=first).execution_options(**options))
    is_empty = Series.first_step.is_(None)
    db.execute(mine.where(is_empty).values(chunked_to=-1, open_chunk=None).execution_options(**options))
