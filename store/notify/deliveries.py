"""Deliveries: the outbox. A delivery is claimed for a while, sent outside any transaction, and then settled.

A worker that is killed between sending and settling leaves the delivery as claimed; when the claim has expired, the
message is sent again, with the same key.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, delete, exists, func, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.notification import DeliveryStatus, NotifyEvent
from store.insert import insert_into
from store.tables.base import now
from store.tables.notify import NotifyDelivery

CLAIM = timedelta(minutes=3)  # longer than an attempt may take
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=5), timedelta(hours=1)  # between two attempts; each is twice the last one
GIVE_UP_AFTER = timedelta(hours=24)
STORED_FOR = timedelta(days=30)  # after the end
MAX_ERROR = 500  # characters


class Claimed(NamedTuple):
    """A delivery that this worker may send, and the number of the attempt."""

    id: int
    target_id: int
    key: str
    attempt: int
    title: str
    body: Mapping[str, Any]
    created_at: datetime


def new_key() -> str:
    """Return a key that no other message has."""
    return f"msg_{token_hex(16)}"


def add(db: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store new deliveries, except those whose key is stored already."""
    if rows:
        db.execute(insert_into(db, NotifyDelivery).on_conflict_do_nothing(), [dict(row) for row in rows])


def due_targets(db: Session) -> list[int]:
    """Return the targets for which a delivery is due."""
    return list(db.scalars(select(NotifyDelivery.target_id).where(*_due()).distinct()))


def last_created(db: Session, experiment_id: int, event: NotifyEvent) -> datetime | None:
    """Return when the newest message about an event of an experiment was made."""
    mine = (NotifyDelivery.experiment_id == experiment_id, NotifyDelivery.event == event.value)
    return db.scalar(select(func.max(NotifyDelivery.created_at)).where(*mine))


def claim(db: Session, target_id: int) -> Claimed | None:
    """Claim the oldest delivery that is due for a target; None if there is none."""
    mine = (NotifyDelivery.target_id == target_id, *_due())
    query = select(NotifyDelivery).where(*mine).order_by(NotifyDelivery.id).limit(1)
    row = db.scalar(query.with_for_update(skip_locked=True))
    if row is None:
        return None
    row.attempts += 1
    row.not_before = now() + CLAIM
    return Claimed(row.id, row.target_id, row.key, row.attempts, row.title, row.body, row.created_at)


def settle(db: Session, claimed: Claimed, error: str | None, *, is_final: bool = False) -> bool:
    """Store the outcome of an attempt, unless another attempt has begun since; return whether it was stored.

    `error` None: it was delivered. `is_final`: no further attempt can help.
    """
    at = now()
    values: dict[str, Any] = {"error": None if error is None else error[:MAX_ERROR]}
    wait = min(FIRST_WAIT * 2 ** min(claimed.attempt - 1, 20), LONGEST_WAIT)
    if error is None:
        values |= {"status": DeliveryStatus.DELIVERED, "ended_at": at}
    elif is_final or at + wait > claimed.created_at + GIVE_UP_AFTER:
        values |= {"status": DeliveryStatus.GIVEN_UP, "ended_at": at}
    else:
        values |= {"not_before": at + wait}
    mine = (NotifyDelivery.id == claimed.id, NotifyDelivery.attempts == claimed.attempt)
    query = update(NotifyDelivery).where(*mine, NotifyDelivery.ended_at.is_(None)).values(values)
    return db.scalar(query.returning(NotifyDelivery.id).execution_options(synchronize_session=False)) is not None


def page(
    db: Session, *, experiment_id: int | None, target_id: int | None, before: int | None, limit: int
) -> Sequence[NotifyDelivery]:
    """Return deliveries, newest first."""
    query = select(NotifyDelivery)
    if experiment_id is not None:
        query = query.where(NotifyDelivery.experiment_id == experiment_id)
    if target_id is not None:
        query = query.where(NotifyDelivery.target_id == target_id)
    if before is not None:
        query = query.where(NotifyDelivery.id < before)
    return db.scalars(query.order_by(NotifyDelivery.id.desc()).limit(limit)).all()


def remove_old(db: Session) -> None:
    """Remove deliveries that ended long ago; the newest row stays, for SQLite would give its id again."""
    newest = select(func.max(NotifyDelivery.id)).scalar_subquery()
    old = NotifyDelivery.ended_at < now() - STORED_FOR
    db.execute(
        delete(NotifyDelivery).where(old, NotifyDelivery.id < newest).execution_options(synchronize_session=False)
    )


def any_due(at: BindParameter[datetime]) -> ColumnElement[bool]:
    """Return the condition that some delivery is due at a moment."""
    return exists().where(NotifyDelivery.ended_at.is_(None), NotifyDelivery.not_before <= at)


def _due() -> tuple[ColumnElement[bool], ...]:
    return NotifyDelivery.ended_at.is_(None), NotifyDelivery.not_before <= now()
