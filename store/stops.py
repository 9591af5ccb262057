"""Stops that were asked for: of runs that wait here, many in a statement, and of those that a cluster has."""

from collections.abc import Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.state import LIVE, MOVES, State
from store.locks import hold
from store.tables import Move, Run, now

assert State.CANCELLED in MOVES[State.QUEUED]
_UNWANTED = (Run.state == State.QUEUED, Run.stop_wanted_at.is_not(None))


def cancel_queued(db: Session, most: int) -> int:
    """End the oldest queued runs that were asked to stop, at most so many; return how many that were."""
    at = now()
    mine = update(Run).where(Run.id.in_(hold(db, *_UNWANTED, most=most)))
    change = {"state": State.CANCELLED, "reason": Run.stop_reason, "moved_at": at, "ended_at": at}
    ended = mine.values(change).returning(Run.id, Run.stop_reason).execution_options(synchronize_session=False)
    moves = [
        {"run_id": id_, "old": State.QUEUED, "new": State.CANCELLED, "reason": reason, "at": at}
        for id_, reason in db.execute(ended)
    ]
    if moves:
        db.execute(insert(Move), moves)
    return len(moves)


def any_queued(db: Session) -> bool:
    """Whether a queued run was asked to stop."""
    return db.scalar(select(Run.id).where(*_UNWANTED).limit(1)) is not None


def live(db: Session) -> Sequence[Run]:
    """Runs that were asked to stop, that a cluster has, and of whose job nobody has seen the end."""
    asked = (Run.state.in_(LIVE), Run.stop_wanted_at.is_not(None), Run.gone_reason.is_(None))
    return db.scalars(select(Run).where(*asked).order_by(Run.id)).all()
